#include "protogcd/cluster/nearest_centroids.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace protogcd {

std::int64_t NearestCentroids::fill_empty(const at::Tensor& centroids,
                                          std::vector<std::int64_t>& sizes) {
  if (std::ranges::find(sizes, 0) == sizes.end()) return 0;
  const at::Tensor own = labels();
  at::Tensor distances = own_distances(points_, centroids, own);
  if (fixed_.defined()) distances = distances.masked_fill(fixed_ >= 0, 0);
  const auto [farthest, order] = distances.sort(/*stable=*/true, 0, /*descending=*/true);
  const at::Tensor far = farthest.cpu(), rows = order.cpu(), clusters = own.cpu();
  const auto cluster_of = [&](std::int64_t place) {
    return clusters[rows[place]].item<std::int64_t>();
  };
  std::int64_t moved = 0, next = 0;
  for (std::int64_t k = 0; k < k_; ++k) {
    if (sizes[static_cast<std::size_t>(k)] > 0) continue;
    while (next < points_.size() && sizes[static_cast<std::size_t>(cluster_of(next))] < 2) ++next;
    at::Tensor offer = at::zeros({1, 2}, at::kDouble);  // of this process: how far, from where
    if (next < points_.size()) {
      offer[0][0] = far[next];
      offer[0][1] = cluster_of(next);
    }
    const at::Tensor offers = points_.team().all_gather(offer);  // [P, 2]
    const auto [farthest_of_all, whose] = offers.select(1, 0).max(0);
    if (farthest_of_all.item<double>() <= 0) return moved;
    const auto from =
        static_cast<std::int64_t>(offers[whose.item<std::int64_t>()][1].item<double>());
    if (whose.item<std::int64_t>() == points_.team().rank())
      move(rows[next++].item<std::int64_t>(), from, k);
    --sizes[static_cast<std::size_t>(from)];
    ++sizes[static_cast<std::size_t>(k)];
    ++moved;
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
