// run.json: what a run was begun with, and on.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace protogcd {

inline constexpr int kRunFormat = 1;
inline constexpr const char* kRunSettings = "settings";  ///< their key

struct RunNotes {
  std::map<std::string, std::string> environment;  ///< device, threads, versions
  /// Options and the seed; runs of older versions kept none.
  std::optional<std::map<std::string, std::string>> settings;
};

/// Nothing where the file is no JSON object. ModelFileError names it where settings are no texts,
/// or the format is a later one.
RunNotes read_run_notes(const std::filesystem::path& file);

}  // namespace protogcd
