// Where a libtorch of the right version lies. Uses the standard library alone: the launcher runs
// before anything else is loaded.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace protogcd::cli {

struct TorchFolder {
  std::filesystem::path libraries;  ///< holds libtorch_cpu.so
  std::string version;              ///< "2.13.0"; empty: it does not say
};

/// The libtorch at `folder`: a torch package of Python, its share/cmake, or an unpacked libtorch.
std::optional<TorchFolder> torch_at(const std::filesystem::path& folder);

struct TorchNeed {
  std::string version;  ///< "2.13": the minor version that the program was built with
  std::vector<std::string> libraries;  ///< file names, all of which must be there
};

struct TorchSearch {
  std::optional<TorchFolder> found;
  std::vector<std::string> rejected;  ///< "FOLDER (why)"
  bool asked_by_name = false;         ///< TORCH_DIR was set, so nothing else was looked at
};

/// Looks at TORCH_DIR alone if it is set; else at `recorded` (the libtorch of the build, may be
/// empty), the active Python, the usual places. `variable` reads the environment.
TorchSearch find_torch(
    const TorchNeed& need, const std::filesystem::path& recorded,
    const std::function<std::optional<std::string>(const std::string&)>& variable);

}  // namespace protogcd::cli
