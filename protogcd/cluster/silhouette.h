// The silhouette (Rousseeuw 1987): how much nearer rows are to their own cluster than to the next
// one. For row i with mean distance a to the other rows of its cluster and b to those of the
// nearest other cluster, s = (b - a) / max(a, b); 0 where it is alone in its cluster.
//
//   const Silhouette silhouette(features);              // distances, once
//   const double score = silhouette(clusters.labels);   // for as many clusterings as you like
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace protogcd {

class Silhouette {
 public:
  /// features [N, D], Euclidean distances. Of more than `most_rows` rows only so many, drawn by the
  /// seed, are looked at: the work grows with their square.
  explicit Silhouette(const at::Tensor& features, std::int64_t most_rows = 4096,
                      std::uint64_t seed = 0);

  /// The mean over the rows, of labels [N] from 0 on; 0 where all are in one cluster.
  double operator()(const at::Tensor& labels) const;

 private:
  at::Tensor rows_;       ///< [n] int64: those looked at; undefined: all
  at::Tensor distances_;  ///< [n, n]
};

}  // namespace protogcd
