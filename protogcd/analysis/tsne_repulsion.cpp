#include "protogcd/analysis/tsne_repulsion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace protogcd {
namespace {

constexpr std::size_t kChunk = 1024;      ///< points of a task
constexpr std::size_t kFewestSteps = 24;  ///< across a map, however small
constexpr std::size_t kMostSteps = 1500;  ///< 9 million numbers in the transform
constexpr std::size_t kMargin = 3;        ///< nodes at each border: splines and the shift
constexpr double kSmallMap = 1;

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

}  // namespace

void exact_repulsion(const MapPoints& points, ThreadPool& pool, Repulsion& result) {
  const std::size_t count = points.x.size();
  result.x.resize(count);
  result.y.resize(count);
  std::vector<double> sums(count);
  constexpr std::size_t kRows = 64;
  pool.for_each((count + kRows - 1) / kRows, [&](std::size_t task) {
    for (std::size_t i = task * kRows; i < std::min(count, (task + 1) * kRows); ++i) {
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
    }
  });
  result.normaliser = std::accumulate(sums.begin(), sums.end(), 0.0);
}

void GridRepulsion::fit_grid(const MapPoints& points, std::size_t round) {
  const auto [west, east] = std::ranges::minmax(points.x);
  const auto [north, south] = std::ranges::minmax(points.y);
  const double span = std::max({double{east} - west, double{south} - north, 1e-30});
  // Steps are halved or doubled from kStep, and grids take the whole transform that they need, so
  // that a kernel serves many rounds.
  double step = kStep;
  while (span < step * kFewestSteps) step /= 2;
  while (span > step * kMostSteps) step *= 2;
  const std::size_t nodes =
      GridConvolution::rounded_nodes(static_cast<std::size_t>(span / step) + 2 + 2 * kMargin);
  // Between points that are close together all kernels are nearly one, and what they differ by
  // would be lost to rounding: on small maps 1 is taken off, and given back to the sum.
  const double offset = span < kSmallMap ? 1 : 0;
  if (step != step_ || nodes != grid_.nodes() || offset != offset_) {
    step_ = step;
    offset_ = offset;
    grid_.set_kernel(
        nodes,
        [&](double x, double y) {
          const double squared = (x * x + y * y) * step * step;
          return offset == 0 ? 1 / (1 + squared) : -squared / (1 + squared);
        },
        [](double angle) { return std::pow(2.0 / 3 + std::cos(angle) / 3, -2); });
  }
  // Fractions of a sequence that fills the square evenly.
  const double turn = static_cast<double>(round);
  const double shift_x = turn * 0.7548776662466927, shift_y = turn * 0.5698402909980532;
  left_ = west - (kMargin - 1 + shift_x - std::floor(shift_x)) * step;
  top_ = north - (kMargin - 1 + shift_y - std::floor(shift_y)) * step;
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
  const std::size_t count = points.x.size(), chunks = (count + kChunk - 1) / kChunk;
  result.x.resize(count);
  result.y.resize(count);
  sums_.resize(chunks);
  fit_grid(points, round);
  spread(points);
  grid_.convolve();
  pool_.for_each(chunks, [&](std::size_t chunk) {
    sums_[chunk] = gather(points, chunk * kChunk, std::min(count, (chunk + 1) * kChunk), result);
  });
  const auto points_count = static_cast<double>(count);
  result.normaliser = std::accumulate(sums_.begin(), sums_.end(), 0.0) +
                      offset_ * points_count * points_count - points_count;
}

}  // namespace protogcd
