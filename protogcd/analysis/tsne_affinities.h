// How near rows are to each other, as probabilities: p_ij of t-SNE (van der Maaten & Hinton 2008,
// eq. 1 and 2), of the nearest neighbours alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "protogcd/analysis/nearest_neighbours.h"

namespace protogcd {

/// A symmetric sparse matrix that sums to 1. Every row is filled up to a multiple of kAlign with
/// entries of weight 0 (of the row with itself), so that kernels need no rest.
struct Affinities {
  static constexpr std::size_t kAlign = 16;
  std::vector<std::size_t> starts;  ///< [N + 1], in `columns` and `weights`
  std::vector<std::uint32_t> columns;
  std::vector<float> weights;

  std::size_t rows() const { return starts.size() - 1; }
};

/// What a map of N rows can have: `asked`, but at most a third of the other rows and at least 1.
double possible_perplexity(double asked, std::size_t rows);
/// How many neighbours it takes: three times the perplexity.
std::size_t perplexity_neighbours(double perplexity, std::size_t rows);

/// p_j|i of one row from its neighbours' squared distances: a Gaussian whose width gives the
/// perplexity exp(-sum_j p_j|i ln p_j|i). Where equal distances do not let it be so small, the
/// narrowest that is found.
void conditional_affinities(std::span<const float> squared_distances, double perplexity,
                            std::span<float> out);

/// p_ij = (p_j|i + p_i|j) / 2N, from the neighbours of all rows.
Affinities joint_affinities(const Neighbours& neighbours, double perplexity, ThreadPool& pool);

}  // namespace protogcd
