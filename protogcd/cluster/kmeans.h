// k-means, by greedy k-means++ and Lloyd's algorithm after eager rounds (lloyd.cpp).
//
//   const Points points(features, "features.npy");   // [N, D]; checked and made ready once
//   const Clustering best = kmeans(points, {.k = 100, .starts = 10});
//   const Clustering more = kmeans(points, {.k = 120, .starts = 10});      // the same points again
//   const Clustering from = lloyd(points, best.centroids, {.k = 100});     // from given centroids
//
// The work is done where the features are, CPU or GPU. On the CPU a result depends on the features
// and the options alone, not on the number of threads. Stopping, tolerance and empty clusters are
// scikit-learn's: a run ends when no row changes its cluster, or when the squared moves of all
// centroids together are within `tolerance` times the mean variance of a column; a cluster that
// loses all its rows gets the row that is farthest from its centroid. Where the rows have fewer
// than k different values, some clusters stay empty.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "protogcd/cluster/points.h"
#include "protogcd/core/stop.h"

namespace protogcd {

struct KMeansOptions {
  std::int64_t k = 1;                 ///< clusters
  std::int64_t starts = 10;           ///< the one with the lowest inertia is kept
  std::int64_t max_iterations = 300;  ///< of a start
  double tolerance = 1e-4;
  std::uint64_t seed = 0;
  bool plain_seeding = false;  ///< of semi-supervised k-means: one draw a centroid, as published
  StopToken stop{};            ///< looked at between iterations: InterruptedError
};

struct Clustering {
  at::Tensor labels;            ///< [N] int64, the nearest centroid
  at::Tensor centroids;         ///< [K, D]
  double inertia = 0;           ///< sum of squared distances to the rows' own centroids
  std::int64_t iterations = 0;  ///< of the start that was kept
};

/// UsageError where k is below 1 or above the number of rows.
Clustering kmeans(const Points& points, const KMeansOptions& options);

/// Lloyd's algorithm from these centroids [K, D]; options.k and starts do not matter.
Clustering lloyd(const Points& points, const at::Tensor& centroids, const KMeansOptions& options);

/// The centroids that the first start of `kmeans` begins with, [K, D].
at::Tensor first_centroids(const Points& points, const KMeansOptions& options);

}  // namespace protogcd
