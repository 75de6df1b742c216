// Other splits into old and new classes than a dataset comes with: the first N classes are old, and
// a share of their images is labelled, drawn as in the published splits.
#pragma once

#include <cstddef>
#include <string_view>

#include "protogcd/data/benchmark.h"
#include "protogcd/data/sample.h"

namespace protogcd {

/// Moves the border between old and new classes; their order stays: the old ones of the published
/// split come first. To be called before split_benchmark. UsageError unless 1 to K.
void choose_old_classes(RawBenchmark& raw, std::size_t old_classes);

/// The same for users' data. Images of the first classes whose class is known are pooled, labelled
/// or not, and a share of them is labelled anew; all other training images are unlabelled. Labels
/// that are taken away stay as hidden truth. UsageError unless 1 to the number of known classes;
/// DataError if a class is left without a labelled image.
void choose_old_classes(Dataset& dataset, std::size_t old_classes,
                        double labelled_share = kLabelledShare);

/// DataError, beginning with `asked`, if an old class has no labelled image.
void check_old_classes_are_labelled(const Dataset& dataset, std::string_view asked);

/// So many of `count`, rounded down as Python's int() does.
inline std::size_t share_of(std::size_t count, double share) {
  return static_cast<std::size_t>(share * static_cast<double>(count));
}

}  // namespace protogcd
