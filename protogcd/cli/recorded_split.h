// The split of old and new classes that a run was trained on, for verbs that look at its images
// again.
#pragma once

#include <filesystem>

#include "protogcd/data/data_options.h"

namespace protogcd::cli {

/// Takes --old-classes, --labelled-share and --class-order from the configuration of a run on the
/// same dataset, folders or manifest where none of them was given, so that its model is judged on
/// the split it was trained on.
void adopt_recorded_split(DataOptions& options, const std::filesystem::path& run);

}  // namespace protogcd::cli
