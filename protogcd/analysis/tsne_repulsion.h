// What pushes the points of a t-SNE map apart: with q = 1 / (1 + |y_i - y_j|^2), the forces
// sum_j q^2 (y_i - y_j) and the normaliser Z = sum_{i != j} q, from all pairs or by a grid.
#pragma once

#include <cstddef>
#include <vector>

#include "protogcd/analysis/grid_convolution.h"
#include "protogcd/analysis/map_points.h"
#include "protogcd/core/thread_pool.h"

namespace protogcd {

struct Repulsion {
  std::vector<float> x, y;  ///< forces, [N]
  double normaliser = 0;    ///< Z
};

/// All pairs in float64: the reference of tests, and exact divergences.
void exact_repulsion(const MapPoints& points, ThreadPool& pool, Repulsion& result);
/// All pairs in float32 by whole registers: what a small map takes.
void pairwise_repulsion(const MapPoints& points, ThreadPool& pool, Repulsion& result,
                        VectorWidth width = widest_vectors());

/// The potential u(y) = sum_j 1 / (1 + |y - y_j|^2) is all that is needed: Z = sum_i u(y_i) - N,
/// and the forces are -grad u / 2. On a grid u is one convolution; points give to the grid and take
/// from it through cubic B-splines, whose smoothing is undone in the transform (so that this is the
/// tensor-product spline interpolation of the kernel, in both its arguments).
class GridRepulsion {
 public:
  explicit GridRepulsion(ThreadPool& pool) : pool_(pool), grid_(pool) {}

  /// By the grid, or by all pairs where points are so few that this is less work.
  void compute(const MapPoints& points, std::size_t round, Repulsion& result);
  /// `round` shifts the grid by another fraction of a step each time, so that what interpolation
  /// does wrong is not done again and again. The same result whatever the number of threads.
  void compute_on_grid(const MapPoints& points, std::size_t round, Repulsion& result);

  /// Between nodes, in units of the map, where the map is neither tiny nor huge.
  static constexpr double kStep = 0.25;

 private:
  struct Extent {
    double west, north, span, step;
    std::size_t nodes;
  };
  static Extent extent_of(const MapPoints& points);
  void fit_grid(const Extent& extent, std::size_t round);
  void spread(const MapPoints& points);
  double gather(const MapPoints& points, std::size_t begin, std::size_t end, Repulsion& result);

  ThreadPool& pool_;
  GridConvolution grid_;
  double step_ = 0, left_ = 0, top_ = 0, offset_ = 0;
  VectorWidth width_ = widest_vectors();
  std::vector<double> sums_;  ///< of each chunk of points
};

}  // namespace protogcd
