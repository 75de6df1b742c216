// A ViT's tensors with random values: for benchmarks and tests, where weights do not matter.
#pragma once

#include "protogcd/nn/vit_config.h"

namespace protogcd {

/// float32; scales and shifts lie off 1 and 0, so that leaving one out shows.
StateDict random_vit_state(const VitConfig& config, std::uint64_t seed);

}  // namespace protogcd
