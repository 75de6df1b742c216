#include "protogcd/nn/sgd.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace protogcd {

Sgd::Sgd(FlatParameters& parameters, const SgdOptions& options)
    : parameters_(parameters), options_(options), momentum_(at::zeros_like(parameters.values())) {}

void Sgd::step(const at::Tensor& rate) {
  const at::NoGradGuard no_grad;
  const std::int64_t matrices = parameters_.matrix_count();
  momentum_.mul_(options_.momentum).add_(parameters_.gradient());
  momentum_.narrow(0, 0, matrices)
      .add_(parameters_.values().narrow(0, 0, matrices), options_.weight_decay);
  parameters_.values().addcmul_(momentum_, rate, -1);
}

}  // namespace protogcd
