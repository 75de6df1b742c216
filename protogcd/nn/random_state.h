// A ViT's tensors with random values: for benchmarks and tests, where weights do not matter.
#pragma once

#include "protogcd/nn/vit_config.h"

namespace protogcd {

/// Normal values of the given deviation; scales lie around 1, so that leaving one out, or a shift,
/// shows.
StateDict random_vit_state(const VitConfig& config, at::ScalarType type = at::kDouble,
                           double deviation = 0.2);

}  // namespace protogcd
