#include "protogcd/training/train_step.h"

#include <ATen/ATen.h>

namespace protogcd {

std::map<std::string, at::Tensor> trained_parameters(const TrainedBlocks& blocks,
                                                     const Method& method) {
  std::map<std::string, at::Tensor> parameters;
  for (const auto& [name, tensor] : blocks.named_parameters()) parameters["0." + name] = tensor;
  for (const auto& [name, tensor] : method.parameters()) parameters["1." + name] = tensor;
  return parameters;
}

TrainStep::TrainStep(TrainedBlocks& blocks, Method& method, const SgdOptions& sgd,
                     Communicator& communicator)
    : blocks_(blocks),
      method_(method),
      communicator_(communicator),
      parameters_(trained_parameters(blocks, method)),
      optimiser_(parameters_, sgd) {}

StepLoss TrainStep::run(std::vector<StepBatch>& batches, const at::Tensor& rate) {
  const BufferPool::Scope scope(buffers_);
  parameters_.forget_gradients();
  for (StepBatch& batch : batches) batch.features = blocks_.forward(batch.tokens);
  StepLoss loss = method_.loss(batches, communicator_);
  loss.total.backward();
  for (StepBatch& batch : batches) batch.features = at::Tensor();  // and with it the graph
  update(rate);
  method_.after_update();
  loss.total = loss.total.detach();
  for (at::Tensor& value : loss.reported) value = value.detach();
  return loss;
}

at::Tensor TrainStep::run_with(const TrunkTokens& tokens,
                               const std::function<at::Tensor(const at::Tensor&)>& loss,
                               const at::Tensor& rate) {
  const BufferPool::Scope scope(buffers_);
  parameters_.forget_gradients();
  const at::Tensor total = loss(blocks_.forward(tokens));
  total.backward();
  update(rate);
  return total.detach();
}

void TrainStep::update(const at::Tensor& rate) {
  if (communicator_.size() > 1) {
    at::Tensor gradient = parameters_.flat_gradient();
    communicator_.all_reduce(gradient);
  }
  optimiser_.step(rate);
}

}  // namespace protogcd
