// k-means of more rows than one can go through many times: a fit of a sample, then every row to
// its nearest centroid.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "protogcd/cluster/points.h"

namespace protogcd {

/// So many of the numbers below `total`, in rising order; every choice is as likely as another.
std::vector<std::int64_t> draw_rows(std::int64_t total, std::int64_t count, std::uint64_t seed);

struct NearestOfRows {
  at::Tensor labels;   ///< [N] int64
  double inertia = 0;  ///< of the rows of this process
};

/// The nearest of these centroids [K, D] for every row.
NearestOfRows nearest_of_rows(const Points& points, const at::Tensor& centroids);

}  // namespace protogcd
