// t-SNE (van der Maaten & Hinton 2008): rows of numbers as points of a plane, such that rows that
// are near to each other stay so. docs/map.md says how it works and what it costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace protogcd {

struct TsneOptions {
  double perplexity = 30;  ///< about how many neighbours a row has; at most (N - 1) / 3 is used
  int iterations = 1000;   ///< at most
  int exaggerated_iterations = 250;  ///< the first ones, in which clusters form
  double exaggeration = 12;          ///< of the affinities, in those
  /// Stop when 50 iterations lower the divergence by less than this share of it.
  double least_progress = 1e-4;
  std::uint64_t seed = 0;
  std::size_t threads = 1;
  /// Called after each iteration with the number done; false ends the work by InterruptedError.
  std::function<bool(int done)> keep_going = {};
};

/// The map of `features` [N, D]: [N, 2], around the origin. The same for the same seed, whatever
/// the number of threads. Up to three rows lie on a circle of radius 1 (one row at the origin), and
/// rows that are all equal in a disc. DataError where a number is not finite or D does not divide
/// the numbers, UsageError for options out of range.
std::vector<float> tsne(std::span<const float> features, std::size_t dimension,
                        const TsneOptions& options);

}  // namespace protogcd
