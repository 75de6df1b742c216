// Which row is in which cluster, and what follows from it: the state of one run of Lloyd's
// algorithm. Two kinds: one of plain tensor operations, for any device and type, and one for
// float32 on the CPU that looks again only at rows whose nearest centroid may have changed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "protogcd/cluster/points.h"

namespace protogcd {

class NearestCentroids {
 public:
  virtual ~NearestCentroids() = default;

  /// Gives every free row to the nearest of the centroids [K, D] (mean removed; the lowest number
  /// of equals); how many rows changed their cluster.
  virtual std::int64_t assign(const at::Tensor& centroids) = 0;
  /// The same for rows that have clusters, but a row's squared distance to the centroid of its own
  /// cluster, of n > 1 rows (`sizes` [K]), counts 1 + 2 / n times: up to terms of 1 / n^2, that is
  /// the distance to the mean of the others. Near ties may fall either way, and means() that follow
  /// are near ones, as products and sums may be of rounded rows.
  virtual std::int64_t assign_eagerly(const at::Tensor& centroids,
                                      const std::vector<std::int64_t>& sizes) = 0;
  /// Means of the clusters [K, D]; an empty one keeps its centroid.
  virtual at::Tensor means(const at::Tensor& centroids) const = 0;
  virtual at::Tensor labels() const = 0;  ///< [N] int64
  virtual std::vector<std::int64_t> counts() const = 0;

  /// Gives every empty cluster the row that is farthest from its own centroid, unless all rows
  /// coincide with theirs; a cluster's last row stays. How many rows were moved. Rows and `sizes`
  /// [K], which follow, are those of all processes.
  std::int64_t fill_empty(const at::Tensor& centroids, std::vector<std::int64_t>& sizes);

 protected:
  /// `fixed` [N] int64: clusters of rows that never change, -1 for free rows; undefined: all free.
  NearestCentroids(const Points& points, std::int64_t k, const at::Tensor& fixed)
      : points_(points), k_(k), fixed_(fixed) {}

  virtual void move(std::int64_t row, std::int64_t from, std::int64_t to) = 0;

  const Points& points_;
  const std::int64_t k_;
  const at::Tensor fixed_;
};

/// Plain: the reference for the other, and the way on a GPU and in float64.
std::unique_ptr<NearestCentroids> make_tensor_nearest_centroids(const Points& points,
                                                                std::int64_t k,
                                                                const at::Tensor& fixed);
/// float32 on the CPU.
std::unique_ptr<NearestCentroids> make_cpu_nearest_centroids(const Points& points, std::int64_t k,
                                                             const at::Tensor& fixed);
/// The faster of those that fit.
std::unique_ptr<NearestCentroids> make_nearest_centroids(const Points& points, std::int64_t k,
                                                         const at::Tensor& fixed);

}  // namespace protogcd
