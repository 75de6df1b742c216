// First centroids by greedy k-means++ (Arthur and Vassilvitskii 2007): each is a row drawn with a
// chance proportional to its squared distance to those there are; of 2 + ln K such rows, the one
// that leaves the smallest sum of distances is taken.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "protogcd/cluster/points.h"
#include "protogcd/core/stop.h"

namespace protogcd {

struct SeedingOptions {
  std::int64_t k = 1;
  std::int64_t start = 0;  ///< its number: each draws other rows
  std::uint64_t seed = 0;
  at::Tensor given =
      {};  ///< [G, D], mean removed: the first centroids of every start; may be undefined
  at::Tensor free = {};  ///< [N] bool: own rows that may be drawn and that count; undefined: all
  /// One draw a centroid instead of the best of several, as in the published semi-supervised
  /// k-means.
  bool plain = false;
  StopToken stop{};
};

/// InterruptedError if the user has asked any process to stop; asked between two steps.
void check_interrupt(const Points& points, const StopToken& stop);

/// Centroids [K, D], mean removed. InterruptedError where the user asks to stop.
at::Tensor kmeans_plus_plus(const Points& points, const SeedingOptions& options);

/// Plain k-means++ after the given centroids: for each draw (0 to 1) the first row at which the
/// squared distances to the nearest centroid, added up, reach that share of their sum.
at::Tensor plain_kmeans_plus_plus(const Points& points, const SeedingOptions& options,
                                  std::span<const double> draws);

}  // namespace protogcd
