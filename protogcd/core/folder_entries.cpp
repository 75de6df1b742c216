#include "protogcd/core/folder_entries.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"

namespace protogcd {

std::vector<std::filesystem::directory_entry> folder_entries(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    entries.push_back(*entry);
  if (error) throw FileError(fmt::format("{}: cannot list: {}", folder.string(), error.message()));
  std::ranges::sort(entries);
  return entries;
}

}  // namespace protogcd
