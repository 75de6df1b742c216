// Files with the same content, found without reading most of them: by size, then by head and tail,
// then whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protogcd/data/sample.h"

namespace protogcd {

struct DuplicateReport {
  /// Samples (positions in Dataset::samples) whose files are equal byte for byte, at least two per
  /// group, each in ascending order.
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::string> unreadable;  ///< files that could not be read, with the reason

  std::size_t extra_files() const;  ///< files that could go without losing an image
};

/// Records of container files and boxes of images are not looked at.
DuplicateReport find_duplicates(const Dataset& dataset);

}  // namespace protogcd
