// The images of a predictions table, sorted into a folder for each class, and a sheet of thumbnails
// for each: what a person would do by hand next.
//
//   OUT/owl/7.jpg  OUT/birds/heron/1.jpg  OUT/contact-sheets/owl.jpg  OUT/sorted.csv
//
// Images are copied or linked, never moved. A class "birds/owl" has a folder within "birds"; what
// cannot be a folder's name ("..", "a\0b", an empty part) is replaced. Of files with the same name
// in one class, later ones get a number ("7-2.jpg"). Records of container files become PNG files.
#pragma once

#include <cstddef>
#include <filesystem>

#include "protogcd/core/context.h"

namespace protogcd {

struct SortOptions {
  std::filesystem::path from;  ///< a run's folder, or a predictions table
  std::filesystem::path out;
  bool link = false;  ///< symbolic links instead of copies
  bool overwrite = false;
  bool with_labelled = false;         ///< of a run: its labelled images too
  std::filesystem::path images_root;  ///< where the images are now, if they were moved
};

struct SortSummary {
  std::size_t images = 0, classes = 0, missing = 0;
};

/// The folder appears when all is in it; where it cannot be finished (a full disk, Ctrl-C) nothing
/// is left. Images that are no longer there are listed in OUT/skipped.csv. UsageError where `out`
/// exists and is not such a folder, or `overwrite` is not set; DataError where no image is found.
SortSummary sort_into_folders(const SortOptions& options, const Context& context);

}  // namespace protogcd
