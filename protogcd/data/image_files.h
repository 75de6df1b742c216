// Finds image files below a folder: any nesting, any bytes in names, in an order that does not
// depend on the file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
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
  /// Of images in tar files that carry one: for each image, one of `label_names` or -1; empty where
  /// there is no tar file.
  std::vector<std::int32_t> labels;
  std::vector<std::string> label_names;
  std::uint64_t several_pages = 0;  ///< TIFF files of which only the first page is read
  /// Images of kinds that cannot be read, by extension; SourceTable::unreadable() names them.
  std::map<std::string, std::uint64_t> unreadable;
  std::uint64_t hidden_files = 0;          ///< names that begin with a dot, folders included
  std::vector<std::string> empty_folders;  ///< with neither images nor folders
  std::vector<std::string> problems;       ///< unreadable folders, loops of links, dangling links,
                                           ///< what is left out of tar files
};

/// Adds every image below `root`, names sorted by bytes within each folder: files with the
/// extension of a format that can be read, and those in .tar files (packed_images.h). Links are
/// followed, except back into a folder they are in. DataError if `root` is no folder that can be
/// read.
ImageListing list_images(const std::filesystem::path& root, SourceTable& sources);

/// The same of one tar file.
ImageListing list_packed(const std::filesystem::path& tar_file, SourceTable& sources);

/// The paths in a text, one a line, relative to its folder; of any length, read line by line. Empty
/// lines are none. DataError names the line of what is no path.
ImageListing list_images_of(const std::filesystem::path& text_file, SourceTable& sources);
/// The same of any stream; `origin` stands for it in messages, `folder` is what paths are relative
/// to.
ImageListing list_images_of(std::istream& text, const std::string& origin,
                            const std::string& folder, SourceTable& sources);

/// What is amiss: its problems, and images that cannot be read.
std::vector<std::string> listing_warnings(const std::filesystem::path& root,
                                          const ImageListing& listing);
/// What is worth knowing: other files, and TIFF files of several pages.
std::vector<std::string> listing_notes(const std::filesystem::path& root,
                                       const ImageListing& listing);

/// Says of a folder, named as the user knows it, that there is nothing to read in it.
DataError no_images_error(const std::string& folder, const ImageListing& listing);

}  // namespace protogcd
