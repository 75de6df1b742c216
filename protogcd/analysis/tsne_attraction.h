// What pulls the points of a t-SNE map together, sum_j p_ij q_ij (y_i - y_j) with
// q_ij = 1 / (1 + |y_i - y_j|^2), and how far the map is from the affinities.
#pragma once

#include <cstddef>

#include "protogcd/analysis/map_points.h"
#include "protogcd/analysis/tsne_affinities.h"
#include "protogcd/analysis/vector_dispatch.h"

namespace protogcd {

/// Of rows `begin` to `end`: to out_x and out_y, [end - begin]. Allocates nothing.
void attraction(const Affinities& affinities, const MapPoints& points, std::size_t begin,
                std::size_t end, float* out_x, float* out_y, VectorWidth width = widest_vectors());

/// KL(P || Q) = sum_ij p_ij ln(p_ij Z / q_ij), with the normaliser Z of the map.
double divergence(const Affinities& affinities, const MapPoints& points, double normaliser,
                  ThreadPool& pool);

}  // namespace protogcd
