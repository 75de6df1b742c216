// The nearest rows of every row, exactly: all distances by blocked products, of which each row
// keeps the least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protogcd/analysis/vector_dispatch.h"
#include "protogcd/core/thread_pool.h"

namespace protogcd {

/// Of Q rows that were asked for, the nearest first. Among equal distances rows that follow the row
/// itself come first, around the end: many equal rows are not all neighbours of the same few.
struct Neighbours {
  std::size_t count = 0;                 ///< K, neighbours of each row
  std::vector<std::uint32_t> rows;       ///< [Q, K]
  std::vector<float> squared_distances;  ///< [Q, K]
};

/// The K nearest other rows of all rows of `features` [N, D], finite; K is lowered to N - 1.
Neighbours nearest_neighbours(std::span<const float> features, std::size_t dimension,
                              std::size_t count, ThreadPool& pool,
                              VectorWidth width = widest_vectors());
/// Of the rows in `queries` alone.
Neighbours nearest_neighbours(std::span<const float> features, std::size_t dimension,
                              std::size_t count, std::span<const std::uint32_t> queries,
                              ThreadPool& pool, VectorWidth width = widest_vectors());

}  // namespace protogcd
