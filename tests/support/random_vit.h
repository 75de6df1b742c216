// A tiny ViT with random weights: serves every test that needs a backbone.
#pragma once

#include <ATen/ATen.h>

#include "protogcd/nn/vit.h"

namespace protogcd::testing {

inline StateDict random_vit_state(const VitConfig& config, std::uint64_t seed = 0) {
  at::manual_seed(seed);
  StateDict state{.origin = "random", .tensors = {}};
  for (const auto& [name, shape] : vit_tensors(config)) {
    at::Tensor values = at::randn(shape, at::kDouble) * 0.2;
    // Scales far from their usual 1 and shifts far from 0, so that leaving one out shows.
    if (shape.size() == 1 && name.ends_with("weight")) values = values + 1;
    state.tensors[name] = values;
  }
  return state;
}

}  // namespace protogcd::testing
