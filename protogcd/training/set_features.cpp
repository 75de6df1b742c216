#include "protogcd/training/set_features.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace protogcd {

void MaterialFeatures::for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) {
  material_.tokens(set).for_each(context_, [&](const TrunkTokens& tokens, std::size_t) {
    const at::NoGradGuard no_grad;
    use(blocks_.forward(tokens));
  });
}

}  // namespace protogcd
