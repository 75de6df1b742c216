#include "protogcd/analysis/map_quality.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "protogcd/analysis/nearest_neighbours.h"
#include "protogcd/analysis/tsne_affinities.h"
#include "protogcd/analysis/tsne_attraction.h"
#include "protogcd/analysis/tsne_repulsion.h"
#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

std::size_t rows_of(std::span<const float> features, std::size_t dimension,
                    std::span<const float> map) {
  if (dimension == 0 || features.size() / dimension != map.size() / 2)
    throw InternalError("a map needs two numbers for every row of features");
  return map.size() / 2;
}

}  // namespace

double neighbourhood_preservation(std::span<const float> features, std::size_t dimension,
                                  std::span<const float> map, const PreservationOptions& options) {
  const std::size_t rows = rows_of(features, dimension, map);
  if (rows < 2) return 1;
  std::vector<std::uint32_t> looked_at(rows);
  std::iota(looked_at.begin(), looked_at.end(), 0U);
  if (options.sample < rows) {
    RandomStream random({.seed = options.seed, .purpose = RandomPurpose::kMap, .epoch = 2});
    shuffle(std::span(looked_at), random);
    looked_at.resize(options.sample);
  }
  ThreadPool pool(options.threads);
  Neighbours far = nearest_neighbours(features, dimension, options.neighbours, looked_at, pool);
  Neighbours near = nearest_neighbours(map, 2, options.neighbours, looked_at, pool);
  std::size_t kept = 0;
  const auto count = static_cast<std::ptrdiff_t>(far.count);
  for (std::size_t i = 0; i < looked_at.size(); ++i) {
    const auto from = far.rows.begin() + static_cast<std::ptrdiff_t>(i) * count;
    const auto to = near.rows.begin() + static_cast<std::ptrdiff_t>(i) * count;
    for (auto row = from; row != from + count; ++row)
      kept += std::find(to, to + count, *row) != to + count;
  }
  return static_cast<double>(kept) / static_cast<double>(far.rows.size());
}

double map_divergence(std::span<const float> features, std::size_t dimension,
                      std::span<const float> map, double perplexity, std::size_t threads) {
  const std::size_t rows = rows_of(features, dimension, map);
  ThreadPool pool(threads);
  perplexity = possible_perplexity(perplexity, rows);
  const Affinities affinities = joint_affinities(
      nearest_neighbours(features, dimension, perplexity_neighbours(perplexity, rows), pool),
      perplexity, pool);
  MapPoints points;
  for (std::size_t i = 0; i < rows; ++i) {
    points.x.push_back(map[2 * i]);
    points.y.push_back(map[2 * i + 1]);
  }
  Repulsion repulsion;
  exact_repulsion(points, pool, repulsion);
  return divergence(affinities, points, repulsion.normaliser, pool);
}

}  // namespace protogcd
