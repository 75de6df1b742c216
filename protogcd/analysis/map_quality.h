// How good a map of rows of features is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace protogcd {

struct PreservationOptions {
  std::size_t neighbours = 10;
  std::size_t sample =
      5000;  ///< rows that are looked at, drawn at random; all where there are less
  std::uint64_t seed = 0;
  std::size_t threads = 1;
};

/// The share of the nearest rows by features [N, D] that are also among the nearest in the map
/// [N, 2]: exact for each row that is looked at. 1 for fewer than two rows.
double neighbourhood_preservation(std::span<const float> features, std::size_t dimension,
                                  std::span<const float> map, const PreservationOptions& options);

/// KL(P || Q), what t-SNE minimises, exactly: P of the features by `perplexity`, Q of all pairs of
/// the map. At least four rows.
double map_divergence(std::span<const float> features, std::size_t dimension,
                      std::span<const float> map, double perplexity, std::size_t threads);

}  // namespace protogcd
