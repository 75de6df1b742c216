#include "protogcd/nn/adamw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace protogcd {

AdamW::AdamW(FlatParameters& parameters, const AdamWOptions& options)
    : parameters_(parameters),
      options_(options),
      first_(at::zeros_like(parameters.values())),
      second_(at::zeros_like(parameters.values())),
      count_(at::zeros({}, parameters.values().options().dtype(at::kFloat))) {
  matrices_.weight_decay = options.weight_decay;
  const auto values = parameters.views_of(parameters.values()), first = parameters.views_of(first_),
             second = parameters.views_of(second_);
  for (const auto& [name, tensor] : parameters.named()) {
    Group& group = tensor.dim() >= 2 ? matrices_ : others_;
    group.names.push_back(name);
    group.values.push_back(values.at(name));
    group.first.push_back(first.at(name));
    group.second.push_back(second.at(name));
    group.counts.push_back(count_);
  }
}

std::vector<at::Tensor> AdamW::gradients_of(const Group& group) const {
  std::vector<at::Tensor> gradients;
  for (const std::string& name : group.names) {
    const at::Tensor& tensor = parameters_.named().at(name);
    gradients.push_back(tensor.grad().defined() ? tensor.grad().contiguous()
                                                : at::zeros_like(tensor));
  }
  return gradients;
}

void AdamW::step(const at::Tensor& rate) {
  const at::NoGradGuard no_grad;
  auto of_matrices = gradients_of(matrices_), of_others = gradients_of(others_);
  if (options_.clip_norm > 0) {
    std::vector<at::Tensor> all = of_matrices;
    all.insert(all.end(), of_others.begin(), of_others.end());
    const at::Tensor norm = at::stack(at::_foreach_norm(all, 2)).norm();
    at::_foreach_mul_(all, (options_.clip_norm / norm).clamp_max(1));
  }
  count_ += 1;
  for (auto [group, gradients] :
       {std::pair{&matrices_, &of_matrices}, std::pair{&others_, &of_others}}) {
    if (gradients->empty()) continue;
    // One pass over everything instead of one for each operation.
    at::_fused_adamw_(group->values, *gradients, group->first, group->second,
                      /*max_exp_avg_sqs=*/{}, group->counts, rate, options_.beta1, options_.beta2,
                      group->weight_decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}

}  // namespace protogcd
