#include "protogcd/cli/torch_search.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace protogcd::cli {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// What stands between quotes behind `key` in the file; empty if it is not there.
std::string quoted_after(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t start = line.find(key);
    if (start == std::string::npos) continue;
    const std::size_t open = line.find_first_of("\"'", start + key.size());
    if (open == std::string::npos) continue;
    const std::size_t close = line.find(line[open], open + 1);
    if (close != std::string::npos) return line.substr(open + 1, close - open - 1);
  }
  return {};
}

std::string version_of(const fs::path& torch) {
  const fs::path cmake = torch / "share/cmake/Torch/TorchConfigVersion.cmake";
  std::string version = quoted_after(cmake, "set(PACKAGE_VERSION ");
  if (version.empty()) version = quoted_after(torch / "version.py", "__version__ =");
  if (version.empty()) std::getline(std::ifstream(torch / "build-version"), version);
  return version.substr(0, version.find('+'));
}

/// lib/python3*/{site,dist}-packages/torch below a prefix, the newest Python first.
std::vector<fs::path> packages_below(const fs::path& prefix) {
  std::vector<fs::path> packages;
  std::error_code error;
  for (fs::directory_iterator entry(prefix / "lib", error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with("python3")) continue;
    for (const char* kind : {"site-packages", "dist-packages"}) {
      const fs::path package = entry->path() / kind / "torch";
      if (is_there(package)) packages.push_back(package);
    }
  }
  std::ranges::sort(packages, std::greater<>());
  return packages;
}

/// The prefixes of the `python3` that a shell would start: of a virtual environment, where it is
/// one, and of the Python that this was made from.
std::vector<fs::path> prefixes_of_python(const std::string& search_path) {
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    if (folder.empty() || !is_there(python)) continue;
    std::error_code error;
    const fs::path real = fs::canonical(python, error);
    std::vector<fs::path> prefixes{fs::path(folder).parent_path()};
    if (!error) prefixes.push_back(real.parent_path().parent_path());
    return prefixes;
  }
  return {};
}

bool is_minor_version(const std::string& version, const std::string& minor) {
  return version == minor || version.starts_with(minor + ".");
}

/// Why it cannot serve; empty if it can.
std::string fault_of(const TorchFolder& torch, const TorchNeed& need) {
  if (torch.version.empty()) return "its version cannot be told";
  if (!is_minor_version(torch.version, need.version)) return "version " + torch.version;
  for (const std::string& library : need.libraries) {
    if (!is_there(torch.libraries / library)) return "has no " + library;
  }
  return {};
}

}  // namespace

std::optional<TorchFolder> torch_at(const fs::path& folder) {
  for (const fs::path& torch :
       {folder, folder / "torch", folder / "libtorch", folder.parent_path(),
        folder.parent_path().parent_path(), folder.parent_path().parent_path().parent_path()}) {
    if (is_there(torch / "lib/libtorch_cpu.so"))
      return TorchFolder{.libraries = torch / "lib", .version = version_of(torch)};
  }
  return std::nullopt;
}

TorchSearch find_torch(
    const TorchNeed& need, const fs::path& recorded,
    const std::function<std::optional<std::string>(const std::string&)>& variable) {
  TorchSearch search;
  const auto look_at = [&](const fs::path& folder) {
    if (search.found) return;
    const auto torch = torch_at(folder);
    if (!torch) return;
    const std::string fault = fault_of(*torch, need);
    if (fault.empty()) {
      search.found = torch;
      return;
    }
    const std::string line = torch->libraries.parent_path().string() + " (" + fault + ")";
    if (std::ranges::find(search.rejected, line) == search.rejected.end())
      search.rejected.push_back(line);
  };
  if (const auto named = variable("TORCH_DIR"); named && !named->empty()) {
    search.asked_by_name = true;
    look_at(fs::path(*named).lexically_normal());
    if (!search.found && search.rejected.empty())
      search.rejected.push_back(*named + " (holds no lib/libtorch_cpu.so)");
    return search;
  }
  if (!recorded.empty()) {
    look_at(recorded);
    if (!search.found && search.rejected.empty())
      search.rejected.push_back(recorded.string() + " (of the build; no longer there)");
  }
  std::vector<fs::path> prefixes;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto prefix = variable(name); prefix && !prefix->empty()) prefixes.push_back(*prefix);
  }
  for (const fs::path& prefix : prefixes_of_python(variable("PATH").value_or("")))
    prefixes.push_back(prefix);
  const fs::path home = variable("HOME").value_or("/nonexistent");
  for (const fs::path& prefix : {home / ".local", fs::path("/usr/local"), fs::path("/usr")})
    prefixes.push_back(prefix);
  for (const fs::path& prefix : prefixes) {
    for (const fs::path& package : packages_below(prefix)) look_at(package);
  }
  for (const fs::path& folder : {home / "libtorch", fs::path("/opt/libtorch"),
                                 fs::path("/usr/local/libtorch"), fs::path("/usr/lib/libtorch")})
    look_at(folder);
  return search;
}

}  // namespace protogcd::cli
