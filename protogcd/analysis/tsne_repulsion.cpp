#include "protogcd/analysis/tsne_repulsion.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr std::size_t kPointsOfTask = 1024;  ///< points of a task
constexpr std::size_t kFewestSteps = 24;     ///< across a map, however small
constexpr std::size_t kMostSteps = 1800;     ///< 15 million numbers in the transform
constexpr std::size_t kMargin = 3;           ///< nodes at each border: splines and the shift
constexpr double kSmallMap = 1;
constexpr std::size_t kPointsPerNode = 5;  ///< of a side of the grid; below, all pairs are faster

/// Cubic B-splines of the four nodes around a place, and their slopes.
struct Spline {
  std::size_t first;  ///< node
  float weights[4], slopes[4];

  explicit Spline(float place) : first(static_cast<std::size_t>(place)) {
    const float t = place - static_cast<float>(first), s = 1 - t;
    --first;
    weights[0] = s * s * s / 6;
    weights[1] = (4 + t * t * (3 * t - 6)) / 6;
    weights[2] = (4 + s * s * (3 * s - 6)) / 6;
    weights[3] = t * t * t / 6;
    slopes[0] = -s * s / 2;
    slopes[1] = t * (3 * t - 4) / 2;
    slopes[2] = -s * (3 * s - 4) / 2;
    slopes[3] = t * t / 2;
  }
};

/// One row of all pairs. Sums are kept in 16 lanes, whatever the width.
struct PairwiseRow {
  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void run(const MapPoints* points, std::size_t row, float* sum,
                                  float* force_x, float* force_y) {
    using Floats = FloatVector<kBytes>;
    using Type = typename Floats::Type;
    constexpr int kLanes = 16, kParts = kLanes / Floats::kCount;
    const float *x = points->x.data(), *y = points->y.data();
    const float own_x = x[row], own_y = y[row];
    const std::size_t count = points->x.size();
    Type sums[kParts] = {}, sums_x[kParts] = {}, sums_y[kParts] = {};
    std::size_t j = 0;
    for (; j + kLanes <= count; j += kLanes) {
      for (int part = 0; part < kParts; ++part) {
        const std::size_t at = j + static_cast<std::size_t>(part * Floats::kCount);
        const Type dx = own_x - Floats::at(x + at), dy = own_y - Floats::at(y + at);
        const Type q = 1 / (1 + dx * dx + dy * dy);
        sums[part] += q;
        sums_x[part] += q * q * dx;
        sums_y[part] += q * q * dy;
      }
    }
    double total = -1, total_x = 0, total_y = 0;  // without the pair of the row and itself
    for (; j < count; ++j) {
      const float dx = own_x - x[j], dy = own_y - y[j], q = 1 / (1 + dx * dx + dy * dy);
      total += q;
      total_x += q * q * dx;
      total_y += q * q * dy;
    }
    for (int part = 0; part < kParts; ++part) {
      for (int lane = 0; lane < Floats::kCount; ++lane) {
        total += sums[part][lane];
        total_x += sums_x[part][lane];
        total_y += sums_y[part][lane];
      }
    }
    *sum = static_cast<float>(total);
    *force_x = static_cast<float>(total_x);
    *force_y = static_cast<float>(total_y);
  }
};

/// Calls body(row) for every row, some rows to a task.
void for_each_row(std::size_t rows, ThreadPool& pool,
                  const std::function<void(std::size_t)>& body) {
  constexpr std::size_t kRows = 64;
  pool.for_each((rows + kRows - 1) / kRows, [&](std::size_t task) {
    for (std::size_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) body(row);
  });
}

}  // namespace

void pairwise_repulsion(const MapPoints& points, ThreadPool& pool, Repulsion& result,
                        VectorWidth width) {
  const std::size_t count = points.x.size();
  result.x.resize(count);
  result.y.resize(count);
  std::vector<float> sums(count);
  for_each_row(count, pool, [&](std::size_t row) {
    run_kernel<PairwiseRow>(width, &points, row, &sums[row], &result.x[row], &result.y[row]);
  });
  result.normaliser = std::accumulate(sums.begin(), sums.end(), 0.0);
}

void exact_repulsion(const MapPoints& points, ThreadPool& pool, Repulsion& result) {
  const std::size_t count = points.x.size();
  result.x.resize(count);
  result.y.resize(count);
  std::vector<double> sums(count);
  for_each_row(count, pool, [&](std::size_t i) {
    double sum = -1, x = 0, y = 0;  // without the pair of i and itself
    for (std::size_t j = 0; j < count; ++j) {
      const double dx = double{points.x[i]} - points.x[j];
      const double dy = double{points.y[i]} - points.y[j];
      const double q = 1 / (1 + dx * dx + dy * dy);
      sum += q;
      x += q * q * dx;
      y += q * q * dy;
    }
    sums[i] = sum;
    result.x[i] = static_cast<float>(x);
    result.y[i] = static_cast<float>(y);
  });
  result.normaliser = std::accumulate(sums.begin(), sums.end(), 0.0);
}

GridRepulsion::Extent GridRepulsion::extent_of(const MapPoints& points) {
  const auto [west, east] = std::ranges::minmax(points.x);
  const auto [north, south] = std::ranges::minmax(points.y);
  // Not below what the coordinates themselves can tell apart.
  const double largest =
      std::max({std::abs(west), std::abs(east), std::abs(north), std::abs(south)});
  const double span = std::max({double{east} - west, double{south} - north, 1e-7 * largest, 1e-30});
  if (!(span < 1e30)) throw InternalError("a map has grown beyond all bounds");
  // Steps are halved or doubled from kStep, and grids take the whole transform that they need, so
  // that a kernel serves many rounds.
  double step = kStep;
  while (span < step * kFewestSteps) step /= 2;
  while (span > step * kMostSteps) step *= 2;
  const std::size_t nodes =
      GridConvolution::rounded_nodes(static_cast<std::size_t>(span / step) + 2 + 2 * kMargin);
  return {.west = west, .north = north, .span = span, .step = step, .nodes = nodes};
}

void GridRepulsion::fit_grid(const Extent& extent, std::size_t round) {
  const double step = extent.step;
  // Between points that are close together all kernels are nearly one, and what they differ by
  // would be lost to rounding: on small maps 1 is taken off, and given back to the sum.
  const double offset = extent.span < kSmallMap ? 1 : 0;
  if (step != step_ || extent.nodes != grid_.nodes() || offset != offset_) {
    step_ = step;
    offset_ = offset;
    grid_.set_kernel(
        extent.nodes,
        [&](double x, double y) {
          const double squared = (x * x + y * y) * step * step;
          return offset == 0 ? 1 / (1 + squared) : -squared / (1 + squared);
        },
        [](double angle) { return std::pow(2.0 / 3 + std::cos(angle) / 3, -2); });
  }
  // Fractions of a sequence that fills the square evenly.
  const double turn = static_cast<double>(round);
  const double shift_x = turn * 0.7548776662466927, shift_y = turn * 0.5698402909980532;
  left_ = extent.west - (kMargin - 1 + shift_x - std::floor(shift_x)) * step;
  top_ = extent.north - (kMargin - 1 + shift_y - std::floor(shift_y)) * step;
}

/// By one thread: sums in another order would round differently.
void GridRepulsion::spread(const MapPoints& points) {
  std::vector<float>& values = grid_.values();
  std::ranges::fill(values, 0.0F);
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    const Spline x(static_cast<float>((points.x[i] - left_) / step_));
    const Spline y(static_cast<float>((points.y[i] - top_) / step_));
    for (std::size_t b = 0; b < 4; ++b) {
      float* row = values.data() + grid_.index(x.first, y.first + b);
      const std::size_t next = grid_.index(1, 0) - grid_.index(0, 0);
      for (std::size_t a = 0; a < 4; ++a) row[a * next] += x.weights[a] * y.weights[b];
    }
  }
}

/// Returns the sum of the potentials.
double GridRepulsion::gather(const MapPoints& points, std::size_t begin, std::size_t end,
                             Repulsion& result) {
  const std::vector<float>& values = grid_.values();
  const std::size_t next = grid_.index(1, 0) - grid_.index(0, 0);
  const auto scale = static_cast<float>(-0.5 / step_);
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Spline x(static_cast<float>((points.x[i] - left_) / step_));
    const Spline y(static_cast<float>((points.y[i] - top_) / step_));
    float potential = 0, slope_x = 0, slope_y = 0;
    for (std::size_t b = 0; b < 4; ++b) {
      const float* row = values.data() + grid_.index(x.first, y.first + b);
      float value = 0, slope = 0;
      for (std::size_t a = 0; a < 4; ++a) {
        value += x.weights[a] * row[a * next];
        slope += x.slopes[a] * row[a * next];
      }
      potential += y.weights[b] * value;
      slope_x += y.weights[b] * slope;
      slope_y += y.slopes[b] * value;
    }
    sum += potential;
    result.x[i] = scale * slope_x;
    result.y[i] = scale * slope_y;
  }
  return sum;
}

void GridRepulsion::compute(const MapPoints& points, std::size_t round, Repulsion& result) {
  // A pair takes about a thirtieth of the time of a node.
  if (points.x.size() < kPointsPerNode * extent_of(points).nodes) {
    pairwise_repulsion(points, pool_, result, width_);
  } else {
    compute_on_grid(points, round, result);
  }
}

void GridRepulsion::compute_on_grid(const MapPoints& points, std::size_t round, Repulsion& result) {
  const std::size_t count = points.x.size(), chunks = (count + kPointsOfTask - 1) / kPointsOfTask;
  result.x.resize(count);
  result.y.resize(count);
  sums_.resize(chunks);
  fit_grid(extent_of(points), round);
  spread(points);
  grid_.convolve();
  pool_.for_each(chunks, [&](std::size_t chunk) {
    sums_[chunk] =
        gather(points, chunk * kPointsOfTask, std::min(count, (chunk + 1) * kPointsOfTask), result);
  });
  const auto points_count = static_cast<double>(count);
  result.normaliser = std::accumulate(sums_.begin(), sums_.end(), 0.0) +
                      offset_ * points_count * points_count - points_count;
}

}  // namespace protogcd
