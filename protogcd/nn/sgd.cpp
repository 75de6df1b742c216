#include "protogcd/nn/sgd.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace protogcd {

Sgd::Sgd(FlatParameters& parameters, const SgdOptions& options)
    : parameters_(parameters), options_(options), momentum_(at::zeros_like(parameters.values())) {
  matrices_.weight_decay = options.weight_decay;
  if (options.decays_all) others_.weight_decay = options.weight_decay;
  const auto values = parameters.views_of(parameters.values()),
             momenta = parameters.views_of(momentum_);
  for (const auto& [name, tensor] : parameters.named()) {
    Group& group = tensor.dim() >= 2 ? matrices_ : others_;
    group.names.push_back(name);
    group.values.push_back(values.at(name));
    group.momenta.push_back(momenta.at(name));
  }
}

void Sgd::step(const at::Tensor& rate) {
  const at::NoGradGuard no_grad;
  for (Group* group : {&matrices_, &others_}) {
    std::vector<at::Tensor> gradients;
    for (const std::string& name : group->names) {
      const at::Tensor& tensor = parameters_.named().at(name);
      gradients.push_back(tensor.grad().defined() ? tensor.grad().contiguous()
                                                  : at::zeros_like(tensor));
    }
    if (gradients.empty()) continue;
    if (rate.is_cuda() && rate.scalar_type() == at::kDouble) {  // the fused one takes float32 rates
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        group->momenta[i].mul_(options_.momentum).add_(gradients[i]);
        group->momenta[i].add_(group->values[i], group->weight_decay);
        group->values[i].sub_(group->momenta[i] * rate);
      }
      continue;
    }
    // One pass over values, gradients and momenta instead of one for each operation.
    at::_fused_sgd_(group->values, gradients, group->momenta, group->weight_decay,
                    options_.momentum, rate, /*dampening=*/0, /*nesterov=*/false,
                    /*maximize=*/false, /*is_first_step=*/false);
  }
}

}  // namespace protogcd
