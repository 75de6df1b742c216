#include "protogcd/cluster/kmeans.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/cluster/lloyd.h"
#include "protogcd/cluster/seeding.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {

Clustering kmeans(const Points& points, const KMeansOptions& options) {
  check_cluster_count(points, options);
  return best_start(points, {.k = options.k, .seed = options.seed}, {}, options);
}

Clustering lloyd(const Points& points, const at::Tensor& centroids, const KMeansOptions& options) {
  if (centroids.dim() != 2 || centroids.size(0) < 1 || centroids.size(1) != points.width()) {
    throw InternalError(fmt::format("centroids [{}] for rows of {} numbers",
                                    join(centroids.sizes(), ", "), points.width()));
  }
  return run_lloyd(points, (centroids.to(points.rows().options()) - points.mean()).contiguous(), {},
                   options);
}

at::Tensor first_centroids(const Points& points, const KMeansOptions& options) {
  check_cluster_count(points, options);
  return kmeans_plus_plus(points, {.k = options.k, .seed = options.seed}) + points.mean();
}

}  // namespace protogcd
