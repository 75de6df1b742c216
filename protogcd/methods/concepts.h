// DCCL's concepts (Pu et al., CVPR 2023): communities of the graph of nearest images.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "protogcd/analysis/map_equation.h"
#include "protogcd/core/stop.h"

namespace protogcd {

struct ConceptOptions {
  std::int64_t neighbours = 15;   ///< of each image, itself counted
  double least_cosine = 0.6;      ///< images less alike are not linked
  std::int64_t least_images = 5;  ///< smaller communities are no concepts
  MapOptions map = {};
  /// As released: whether a link is between images of one label is asked of the image whose place
  /// in the data is the neighbour's rank, not of the neighbour.
  bool label_by_rank = false;
};

/// From each image to its nearest ones, the nearest first: weight is the cosine; between two
/// images of one label, the highest cosine that the first has. rows [N, D] of unit length; labels
/// [N] int64, -1: none. Asked to stop, it throws InterruptedError, as does the next one.
std::vector<WeightedLink> concept_links(const at::Tensor& rows, const at::Tensor& labels,
                                        const ConceptOptions& options, const StopToken& stop = {});

struct Concepts {
  std::vector<std::int32_t> of_image;  ///< [N], -1: in none
  std::int32_t count = 0;
};

Concepts find_concepts(const at::Tensor& rows, const at::Tensor& labels,
                       const ConceptOptions& options, const StopToken& stop = {});

}  // namespace protogcd
