// Looks a dataset over before work is spent on it.
#pragma once

#include <string>
#include <vector>

#include "protogcd/data/sample.h"

namespace protogcd {

struct DatasetCheck {
  std::vector<std::string> problems;  ///< what must be mended
  std::vector<std::string> notes;     ///< what is worth knowing
};

/// Every file is there, is not empty and begins like an image; equal files do not carry different
/// labels; a benchmark (if the dataset's name is one) has its published sizes. An absent test set
/// is a note.
DatasetCheck check_dataset(const Dataset& dataset, bool is_benchmark);

/// Whether a file begins like a JPEG, PNG or WebP image.
bool begins_like_image(std::string_view head);

}  // namespace protogcd
