// Finds image files below a folder: any nesting, any bytes in names, in an order that does not
// depend on the file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/data/source_table.h"

namespace protogcd {

/// jpg, jpeg, png or webp, in any case.
bool has_image_extension(std::string_view file_name);

struct ImageListing {
  std::uint32_t first = 0;  ///< the images are sources [first, first + count)
  std::uint32_t count = 0;
  std::uint64_t ignored_files = 0;         ///< not images by their extension
  std::uint64_t hidden_files = 0;          ///< names that begin with a dot, folders included
  std::vector<std::string> empty_folders;  ///< with neither images nor folders
  std::vector<std::string> problems;       ///< unreadable folders, loops of links, dangling links
};

/// Adds every image below `root`, names sorted by bytes within each folder. Links are followed,
/// except back into a folder they are in. DataError if `root` is no folder that can be read.
ImageListing list_images(const std::filesystem::path& root, SourceTable& sources);

/// "x: 3 other files ignored", or nothing if none were.
std::vector<std::string> ignored_note(const std::filesystem::path& root,
                                      const ImageListing& listing);

}  // namespace protogcd
