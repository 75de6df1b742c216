#include "protogcd/pretrain/pretrain_step.h"

#include <ATen/ATen.h>

namespace protogcd {
namespace {

std::map<std::string, at::Tensor> all_parameters(const PretrainNetwork& network,
                                                 const PretrainMethod& method) {
  std::map<std::string, at::Tensor> parameters;
  for (const auto& [name, tensor] : network.named_parameters())
    parameters["network." + name] = tensor;
  for (const auto& [name, tensor] : method.named_parameters())
    parameters["method." + name] = tensor;
  return parameters;
}

}  // namespace

PretrainStep::PretrainStep(PretrainNetwork& network, PretrainMethod& method,
                           const AdamWOptions& adamw)
    : network_(network),
      method_(method),
      parameters_(all_parameters(network, method)),
      optimiser_(parameters_, adamw) {}

PretrainLoss PretrainStep::run(const PretrainBatch& batch, const at::Tensor& rate) {
  parameters_.forget_gradients();
  const PretrainLoss result = method_.loss(network_, batch);
  result.loss.backward();
  optimiser_.step(rate);
  return {result.loss.detach(), result.accuracy};
}

}  // namespace protogcd
