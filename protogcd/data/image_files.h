// Finds image files below a folder: any nesting, any bytes in names, in an order that does not
// depend on the file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "protogcd/core/error.h"
#include "protogcd/data/source_table.h"

namespace protogcd {

struct ImageListing {
  std::uint32_t first = 0;  ///< the images are sources [first, first + count)
  std::uint32_t count = 0;
  std::uint64_t ignored_files = 0;  ///< not images by their extension
  std::uint64_t several_pages = 0;  ///< TIFF files of which only the first page is read
  /// Images of kinds that cannot be read, by extension; SourceTable::unreadable() names them.
  std::map<std::string, std::uint64_t> unreadable;
  std::uint64_t hidden_files = 0;          ///< names that begin with a dot, folders included
  std::vector<std::string> empty_folders;  ///< with neither images nor folders
  std::vector<std::string> problems;       ///< unreadable folders, loops of links, dangling links
};

/// Adds every image below `root`, names sorted by bytes within each folder: files with the
/// extension of a format that can be read. Links are followed, except back into a folder they are
/// in. DataError if `root` is no folder that can be read.
ImageListing list_images(const std::filesystem::path& root, SourceTable& sources);

/// What is amiss: its problems, and images that cannot be read.
std::vector<std::string> listing_warnings(const std::filesystem::path& root,
                                          const ImageListing& listing);
/// What is worth knowing: other files, and TIFF files of several pages.
std::vector<std::string> listing_notes(const std::filesystem::path& root,
                                       const ImageListing& listing);

/// Says of a folder, named as the user knows it, that there is nothing to read in it.
DataError no_images_error(const std::string& folder, const ImageListing& listing);

}  // namespace protogcd
