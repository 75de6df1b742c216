// Semi-supervised k-means of generalized category discovery (Vaze et al. 2022): labelled rows stay
// in the cluster of their class, the others go to the nearest centroid.
//
//   const Clustering clusters = semi_supervised_kmeans(points, labels, {.k = 200, .starts = 100});
//
// Clusters 0 .. K_old - 1 are the labelled classes, in the order of their numbers; their first
// centroids are the means of their labelled rows. Those of the rest are drawn from the unlabelled
// rows by k-means++, given the old ones. The inertia counts labelled and unlabelled rows.
#pragma once

#include <ATen/core/Tensor.h>

#include "protogcd/cluster/kmeans.h"

namespace protogcd {

/// labels [N] int64 on the CPU: classes 0 .. K_old - 1, or -1 for an unlabelled row. DataError
/// where one of these classes has no row; UsageError where k is smaller than their number, or
/// there are fewer unlabelled rows than new clusters.
Clustering semi_supervised_kmeans(const Points& points, const at::Tensor& labels,
                                  const KMeansOptions& options);

/// Lloyd's algorithm alone from these centroids [K, D], with the same labels; options.k and starts
/// do not matter.
Clustering semi_supervised_lloyd(const Points& points, const at::Tensor& labels,
                                 const at::Tensor& centroids, const KMeansOptions& options);

}  // namespace protogcd
