#include "protogcd/analysis/tsne.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "protogcd/analysis/nearest_neighbours.h"
#include "protogcd/analysis/principal_plane.h"
#include "protogcd/analysis/tsne_affinities.h"
#include "protogcd/analysis/tsne_attraction.h"
#include "protogcd/analysis/tsne_repulsion.h"
#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr std::size_t kChunk = 512;  ///< points of a task
constexpr int kLookEvery = 50;       ///< iterations between two looks at the divergence
constexpr double kStartWidth = 1e-4, kStartNoise = 1e-6;
constexpr double kLeastRate = 200;  ///< of few rows, as in the published code
constexpr double kFinalRate = 4;    ///< after the exaggeration, in units of the rate in it

void check(std::span<const float> features, std::size_t dimension, const TsneOptions& options) {
  if (!(options.perplexity >= 1))
    throw UsageError(fmt::format("perplexity: {} is not at least 1", options.perplexity));
  if (options.iterations < 0 || options.exaggerated_iterations < 0 || !(options.exaggeration >= 1))
    throw UsageError("iterations must not be negative and the exaggeration at least 1");
  if (features.empty()) return;
  if (dimension == 0 || features.size() % dimension != 0)
    throw DataError(
        fmt::format("a map of {} numbers that are not rows of {}", features.size(), dimension));
  const auto bad =
      std::ranges::find_if(features, [](float value) { return !std::isfinite(value); });
  if (bad != features.end())
    throw DataError(fmt::format("row {} of the features has a number that is not finite",
                                static_cast<std::size_t>(bad - features.begin()) / dimension));
}

/// A copy whose squares do not overflow or vanish, where they would; else nothing. A map does not
/// depend on the scale of its features.
std::vector<float> within_range(std::span<const float> features) {
  float largest = 0;
  for (const float value : features) largest = std::max(largest, std::abs(value));
  if (largest == 0 || (largest > 1e-9F && largest < 1e9F)) return {};
  std::vector<float> copy(features.begin(), features.end());
  for (float& value : copy) value /= largest;
  return copy;
}

/// Too few rows for a neighbourhood: corners of a regular figure.
std::vector<float> few_points(std::size_t rows) {
  if (rows < 2) return std::vector<float>(2 * rows);
  std::vector<float> map;
  for (std::size_t i = 0; i < rows; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(rows);
    map.push_back(static_cast<float>(std::cos(angle)));
    map.push_back(static_cast<float>(std::sin(angle)));
  }
  return map;
}

/// The principal plane, tiny, and a little noise: rows that are equal must be able to part.
MapPoints first_points(std::span<const float> features, std::size_t dimension, std::uint64_t seed,
                       ThreadPool& pool) {
  const std::vector<float> plane = principal_plane(features, dimension, seed, pool);
  const std::size_t rows = plane.size() / 2;
  double variance = 0;
  for (std::size_t i = 0; i < rows; ++i) variance += double{plane[2 * i]} * plane[2 * i];
  const double width = std::sqrt(variance / static_cast<double>(rows));
  const double scale = width > 0 ? kStartWidth / width : 0;
  const double noise = width > 0 ? kStartNoise : kStartWidth;
  RandomStream random({.seed = seed, .purpose = RandomPurpose::kMap, .epoch = 1});
  MapPoints points;
  for (std::size_t i = 0; i < rows; ++i) {
    points.x.push_back(static_cast<float>(plane[2 * i] * scale + noise * random.normal()));
    points.y.push_back(static_cast<float>(plane[2 * i + 1] * scale + noise * random.normal()));
  }
  return points;
}

struct Phase {
  double exaggeration, momentum, rate;
};

/// Gradient descent with momentum and gains (Jacobs 1988), as in the published code.
class Descent {
 public:
  Descent(const Affinities& affinities, MapPoints points, ThreadPool& pool)
      : affinities_(affinities),
        pool_(pool),
        repulsion_(pool),
        points_(std::move(points)),
        next_(points_) {
    start_phase();
  }

  /// Each phase starts at rest.
  void start_phase() {
    const std::size_t rows = points_.x.size();
    for (auto* gains : {&gains_.x, &gains_.y}) gains->assign(rows, 1.0F);
    for (auto* moves : {&moves_.x, &moves_.y}) moves->assign(rows, 0.0F);
  }

  void iterate(int round, const Phase& phase) {
    repulsion_.compute(points_, static_cast<std::size_t>(round), forces_);
    const std::size_t rows = points_.x.size();
    pool_.for_each((rows + kChunk - 1) / kChunk, [&](std::size_t chunk) {
      const std::size_t begin = chunk * kChunk, end = std::min(rows, begin + kChunk);
      float pull_x[kChunk], pull_y[kChunk];
      attraction(affinities_, points_, begin, end, pull_x, pull_y, width_);
      move(begin, end, pull_x, &MapPoints::x, &Repulsion::x, phase);
      move(begin, end, pull_y, &MapPoints::y, &Repulsion::y, phase);
    });
    std::swap(points_, next_);
    centre(points_.x);
    centre(points_.y);
  }

  /// Of the points, with the normaliser of an iteration ago.
  double current_divergence() const {
    return divergence(affinities_, points_, forces_.normaliser, pool_);
  }

  const MapPoints& points() const { return points_; }

 private:
  /// Takes the mean off. Where rows have little structure, exaggerated affinities pull all points
  /// nearly into one, from which they come back; away from the origin their differences would be
  /// lost to rounding, and they would not.
  static void centre(std::vector<float>& places) {
    const auto mean = static_cast<float>(std::accumulate(places.begin(), places.end(), 0.0) /
                                         static_cast<double>(places.size()));
    for (float& place : places) place -= mean;
  }

  void move(std::size_t begin, std::size_t end, const float* pull,
            std::vector<float> MapPoints::*axis, std::vector<float> Repulsion::*force,
            const Phase& phase) {
    const auto pull_scale = static_cast<float>(phase.exaggeration);
    const auto push_scale = static_cast<float>(1 / forces_.normaliser);
    const auto rate = static_cast<float>(phase.rate), momentum = static_cast<float>(phase.momentum);
    const float *push = (forces_.*force).data(), *now = (points_.*axis).data();
    float *gains = (gains_.*axis).data(), *moves = (moves_.*axis).data(),
          *next = (next_.*axis).data();
    for (std::size_t i = begin; i < end; ++i) {
      const float gradient = pull_scale * pull[i - begin] - push_scale * push[i];
      const float gain = gradient * moves[i] < 0 ? gains[i] + 0.2F : gains[i] * 0.8F;
      gains[i] = std::max(gain, 0.01F);
      moves[i] = momentum * moves[i] - rate * gains[i] * gradient;
      next[i] = now[i] + moves[i];
    }
  }

  const Affinities& affinities_;
  ThreadPool& pool_;
  GridRepulsion repulsion_;
  MapPoints points_, next_, gains_, moves_;
  Repulsion forces_;
  VectorWidth width_ = widest_vectors();
};

MapPoints descend(const Affinities& affinities, MapPoints points, const TsneOptions& options,
                  ThreadPool& pool) {
  Descent descent(affinities, std::move(points), pool);
  const double rate =
      std::max(static_cast<double>(affinities.rows()) / options.exaggeration, kLeastRate);
  const Phase exaggerated_phase{options.exaggeration, 0.5, rate};
  const Phase final_phase{1, 0.8, kFinalRate * rate};
  double before = std::numeric_limits<double>::infinity();
  for (int done = 0; done < options.iterations;) {
    const bool exaggerated = done < options.exaggerated_iterations;
    if (done == options.exaggerated_iterations) descent.start_phase();
    descent.iterate(done, exaggerated ? exaggerated_phase : final_phase);
    ++done;
    if (options.keep_going && !options.keep_going(done))
      throw InterruptedError("the map was interrupted");
    if (exaggerated || done % kLookEvery != 0) continue;
    const double now = descent.current_divergence();
    if (before - now < options.least_progress * now) break;
    before = now;
  }
  return descent.points();
}

std::vector<float> interleaved(const MapPoints& points) {
  std::vector<float> map;
  map.reserve(2 * points.x.size());
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    map.push_back(points.x[i]);
    map.push_back(points.y[i]);
  }
  return map;
}

}  // namespace

std::vector<float> tsne(std::span<const float> features, std::size_t dimension,
                        const TsneOptions& options) {
  check(features, dimension, options);
  const std::vector<float> moderate = within_range(features);
  if (!moderate.empty()) features = moderate;
  const std::size_t rows = features.empty() ? 0 : features.size() / dimension;
  if (rows < 4) return few_points(rows);
  ThreadPool pool(options.threads);
  const double perplexity = possible_perplexity(options.perplexity, rows);
  const Affinities affinities = joint_affinities(
      nearest_neighbours(features, dimension, perplexity_neighbours(perplexity, rows), pool),
      perplexity, pool);
  return interleaved(
      descend(affinities, first_points(features, dimension, options.seed, pool), options, pool));
}

}  // namespace protogcd
