// Public. How far accuracies could be others had other images of the same kind been drawn: 95%
// intervals by the bootstrap (Efron 1979, percentiles), resampling images.
//
// The matching of clusters to classes is that of the full set and stays fixed: the interval is of
// the accuracy that these named classes have. Matching every resample anew would pick the best of
// many matchings each time, and move intervals upwards where classes have few images
// (docs/notes/intervals.md has figures). Under a fixed matching only four kinds of images differ,
// right and wrong ones of old and of new classes, so a resample is three binomial draws.
#pragma once

#include <cstdint>

#include "protogcd/analysis/accuracy.h"

namespace protogcd {

struct Interval {
  double low = 0, high = 0;  ///< both NaN where there is none
};

struct AccuracyIntervals {
  Interval all, old_classes, new_classes;  ///< 0 to 1; NaN: the group has no samples
};

struct BootstrapOptions {
  std::int64_t resamples = 1000;
  double level = 0.95;
  /// Not the run's: the same predictions have the same intervals everywhere.
  std::uint64_t seed = 0;
};

/// Of `clustering_accuracy`. Nothing varies where all samples of a group are right, or all wrong:
/// both ends are the accuracy itself then.
AccuracyIntervals accuracy_intervals(const Confusion& confusion, const ClusterMapping& mapping,
                                     std::int32_t old_classes,
                                     const BootstrapOptions& options = {});

}  // namespace protogcd
