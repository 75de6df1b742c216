// Clusters of the images that are trained on, by what the blocks make of them at the moment.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "protogcd/methods/method.h"

namespace protogcd {

/// Centres [K, D] on the CPU of semi-supervised k-means (Vaze et al., CVPR 2022) of labelled and
/// unlabelled images' unit features: the old classes first. The tightest of `starts`.
at::Tensor cluster_centres(SetFeatures& sets, std::int64_t k, std::int64_t starts,
                           std::uint64_t seed);

}  // namespace protogcd
