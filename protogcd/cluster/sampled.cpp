#include "protogcd/cluster/sampled.h"

#include <ATen/ATen.h>

#include "protogcd/cluster/nearest_centroids.h"
#include "protogcd/core/random.h"

namespace protogcd {

// Selection sampling (Knuth, The Art of Computer Programming 2, algorithm S).
std::vector<std::int64_t> draw_rows(std::int64_t total, std::int64_t count, std::uint64_t seed) {
  constexpr std::uint8_t kSample = 1;  // starts of a clustering draw as view 0
  RandomStream stream({.seed = seed, .purpose = RandomPurpose::kClustering, .view = kSample});
  std::vector<std::int64_t> drawn;
  for (std::int64_t row = 0; row < total && std::ssize(drawn) < count; ++row) {
    const auto left = static_cast<double>(total - row);
    if (left * stream.uniform() < static_cast<double>(count - std::ssize(drawn)))
      drawn.push_back(row);
  }
  return drawn;
}

NearestOfRows nearest_of_rows(const Points& points, const at::Tensor& centroids) {
  const at::Tensor centred = (centroids.to(points.rows().options()) - points.mean()).contiguous();
  const auto nearest = make_nearest_centroids(points, centred.size(0), {});
  nearest->assign(centred);
  const at::Tensor labels = nearest->labels();
  return {.labels = labels, .inertia = own_distances(points, centred, labels).sum().item<double>()};
}

}  // namespace protogcd
