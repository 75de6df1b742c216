// Lloyd's algorithm for the two kinds of k-means: from centroids, with or without rows that are
// fixed to their cluster.
#pragma once

#include <vector>

#include "protogcd/cluster/kmeans.h"
#include "protogcd/cluster/seeding.h"

namespace protogcd {

/// `centroids` [K, D] as Points has its rows, mean removed; `fixed` as in nearest_centroids.h.
Clustering run_lloyd(const Points& points, at::Tensor centroids, const at::Tensor& fixed,
                     const KMeansOptions& options);

/// The best of several starts; of equals the first. `seeding` says how they begin.
Clustering best_start(const Points& points, SeedingOptions seeding, const at::Tensor& fixed,
                      const KMeansOptions& options);

/// UsageError where there cannot be so many clusters.
void check_cluster_count(const Points& points, const KMeansOptions& options);

}  // namespace protogcd
