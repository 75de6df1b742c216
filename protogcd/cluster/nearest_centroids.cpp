#include "protogcd/cluster/nearest_centroids.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace protogcd {

std::int64_t NearestCentroids::fill_empty(const at::Tensor& centroids) {
  std::vector<std::int64_t> sizes = counts();
  if (std::ranges::find(sizes, 0) == sizes.end()) return 0;
  const at::Tensor own = labels();
  at::Tensor distances = own_distances(points_, centroids, own);
  if (fixed_.defined()) distances = distances.masked_fill(fixed_ >= 0, 0);
  const auto [farthest, order] = distances.sort(/*stable=*/true, 0, /*descending=*/true);
  const at::Tensor far = farthest.cpu(), rows = order.cpu(), clusters = own.cpu();
  std::int64_t moved = 0, next = 0;
  for (std::int64_t k = 0; k < k_; ++k) {
    if (sizes[static_cast<std::size_t>(k)] > 0) continue;
    for (; next < points_.size(); ++next) {
      if (far[next].item<double>() <= 0) return moved;
      const auto row = rows[next].item<std::int64_t>();
      const auto from = clusters[row].item<std::int64_t>();
      if (sizes[static_cast<std::size_t>(from)] < 2) continue;
      move(row, from, k);
      --sizes[static_cast<std::size_t>(from)];
      ++sizes[static_cast<std::size_t>(k)];
      ++moved;
      ++next;
      break;
    }
  }
  return moved;
}

std::unique_ptr<NearestCentroids> make_nearest_centroids(const Points& points, std::int64_t k,
                                                         const at::Tensor& fixed) {
  const bool fits = points.rows().is_cpu() && points.rows().scalar_type() == at::kFloat;
  return fits ? make_cpu_nearest_centroids(points, k, fixed)
              : make_tensor_nearest_centroids(points, k, fixed);
}

}  // namespace protogcd
