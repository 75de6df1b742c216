#include "protogcd/nn/random_state.h"

#include <ATen/ATen.h>

namespace protogcd {

StateDict random_vit_state(const VitConfig& config, std::uint64_t seed) {
  constexpr double kSpread = 0.05;
  at::manual_seed(seed);
  StateDict state{.origin = "random weights", .tensors = {}};
  for (const auto& [name, shape] : vit_tensors(config)) {
    const bool is_scale = shape.size() == 1 && name.ends_with("weight");
    state.tensors[name] = at::randn(shape) * kSpread + (is_scale ? 1 : 0);
  }
  return state;
}

}  // namespace protogcd
