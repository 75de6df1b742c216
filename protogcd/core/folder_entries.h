// What a folder holds, by name; a folder that cannot be listed is an error that names it, also in
// the middle (std::filesystem's own iterators then throw one without a path).
#pragma once

#include <filesystem>
#include <vector>

namespace protogcd {

/// Sorted by name. FileError.
std::vector<std::filesystem::directory_entry> folder_entries(const std::filesystem::path& folder);

}  // namespace protogcd
