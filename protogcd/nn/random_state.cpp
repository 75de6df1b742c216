#include "protogcd/nn/random_state.h"

#include <ATen/ATen.h>

namespace protogcd {

StateDict random_vit_state(const VitConfig& config, at::ScalarType type, double deviation) {
  at::manual_seed(0);
  StateDict state{.origin = "random weights", .tensors = {}};
  for (const auto& [name, shape] : vit_tensors(config)) {
    const bool is_scale = shape.size() == 1 && name.ends_with("weight");
    state.tensors[name] = at::randn(shape, type) * deviation + (is_scale ? 1 : 0);
  }
  return state;
}

}  // namespace protogcd
