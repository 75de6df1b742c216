#include "protogcd/training/train_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

std::map<std::string, at::Tensor> with_prefixes(const TrainedBlocks& blocks,
                                                const std::map<std::string, at::Tensor>& head) {
  std::map<std::string, at::Tensor> parameters;
  for (const auto& [name, tensor] : blocks.named_parameters()) parameters["0." + name] = tensor;
  for (const auto& [name, tensor] : head) parameters["1." + name] = tensor;
  return parameters;
}

std::vector<bool> teacher_streams(const Method& method) {
  std::vector<bool> streams;
  for (const BatchStream& stream : method.streams()) streams.push_back(stream.for_teacher);
  return streams;
}

}  // namespace

std::map<std::string, at::Tensor> trained_parameters(const TrainedBlocks& blocks,
                                                     const Method& method) {
  return with_prefixes(blocks, method.parameters());
}

TrainStep::TrainStep(TrainedBlocks& blocks, Method& method, const SgdOptions& sgd,
                     Communicator& communicator)
    : copy_(method.teacher() ? blocks.copy() : nullptr),
      blocks_(copy_ ? *copy_ : blocks),
      method_(method),
      for_teacher_(teacher_streams(method)),
      communicator_(communicator),
      parameters_(trained_parameters(blocks_, method)),
      optimiser_(parameters_, sgd),
      teacher_(make_teacher(blocks)) {}

std::optional<TrainStep::Following> TrainStep::make_teacher(TrainedBlocks& blocks) const {
  const auto teacher = method_.teacher();
  if (!teacher) return std::nullopt;
  const at::NoGradGuard no_grad;
  Following following{
      blocks, teacher->momentum, with_prefixes(blocks, teacher->parameters),
      parameters_.values().clone(),
      EpochScalar(parameters_.values().scalar_type(), parameters_.values().device())};
  // One buffer in the order of the trained one, so that a step is one operation on it.
  const auto values = parameters_.views_of(following.values);
  if (values.size() != following.named.size())
    throw InternalError("TrainStep: a teacher of other tensors than the trained ones");
  for (auto& [name, tensor] : following.named) tensor.set_data(values.at(name));
  following.change.set(1 - following.momentum.at(0, 1));
  return following;
}

std::map<std::string, at::Tensor> TrainStep::teacher_state() const {
  std::map<std::string, at::Tensor> state;
  if (teacher_)
    for (const auto& [name, tensor] : teacher_->named) state["teacher." + name] = tensor;
  return state;
}

void TrainStep::set_time(std::int64_t step, std::int64_t steps) {
  if (teacher_) teacher_->change.set(1 - teacher_->momentum.at(step, steps));
}

void TrainStep::compute_features(std::vector<StepBatch>& batches) const {
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (for_teacher_[i]) {
      const at::NoGradGuard no_grad;
      batches[i].features = teacher_.value().blocks.forward(batches[i].tokens);
    } else {
      batches[i].features = blocks_.forward(batches[i].tokens);
    }
  }
}

StepLoss TrainStep::run(std::vector<StepBatch>& batches, const at::Tensor& rate) {
  const BufferPool::Scope scope(buffers_);
  parameters_.forget_gradients();
  compute_features(batches);
  StepLoss loss = method_.loss(batches, communicator_);
  loss.total.backward();
  for (StepBatch& batch : batches) batch.features = at::Tensor();  // and with it the graph
  update(rate);
  follow();
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
  follow();
  return total.detach();
}

void TrainStep::update(const at::Tensor& rate) {
  if (communicator_.size() > 1) {
    at::Tensor gradient = parameters_.flat_gradient();
    communicator_.all_reduce(gradient);
  }
  optimiser_.step(rate);
}

// Processes have the same updates, and so the same teacher.
void TrainStep::follow() {
  if (!teacher_) return;
  const at::NoGradGuard no_grad;
  teacher_->values.lerp_(parameters_.values(), *teacher_->change);
}

}  // namespace protogcd
