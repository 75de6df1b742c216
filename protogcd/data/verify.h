// Looks a dataset over before work is spent on it.
#pragma once

#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/data/sample.h"
#include "protogcd/data/skipped.h"
#include "protogcd/image/decode.h"

namespace protogcd {

struct DatasetCheck {
  std::vector<std::string> problems;  ///< what must be mended
  std::vector<std::string> notes;     ///< what is worth knowing
};

/// Equal files do not carry different labels, and a class has more than one labelled image.
DatasetCheck check_labels(const Dataset& dataset);

/// The same, and more: a benchmark (if the dataset's name is one) has its
/// published sizes. An absent test set is a note. Image files are not opened as images.
DatasetCheck check_dataset(const Dataset& dataset, bool is_benchmark);

/// Samples whose images are files of their own, not records of a container (those are checked when
/// the container is opened).
std::size_t count_image_files(const Dataset& dataset);

/// Decodes and resizes every image file, as training would, with all of the context's threads, and
/// hands those that cannot be read to `skipped`, which may give up.
void find_unreadable(const Dataset& dataset, const DecodeOptions& options, const Context& context,
                     SkippedFiles& skipped);

}  // namespace protogcd
