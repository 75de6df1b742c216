#include "protogcd/training/train_step.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace protogcd {

std::map<std::string, at::Tensor> trained_parameters(const TrainedBlocks& blocks,
                                                     const Head& head) {
  std::map<std::string, at::Tensor> parameters;
  for (const auto& [name, tensor] : blocks.named_parameters()) parameters["0." + name] = tensor;
  for (const auto& [name, tensor] : head.named_parameters()) parameters["1." + name] = tensor;
  return parameters;
}

TrainStep::TrainStep(TrainedBlocks& blocks, Head& head, const Objective& objective,
                     const SgdOptions& sgd, Communicator& communicator)
    : blocks_(blocks),
      head_(head),
      objective_(objective),
      communicator_(communicator),
      parameters_(trained_parameters(blocks, head)),
      optimiser_(parameters_, sgd) {}

LossTerms TrainStep::run(const TrunkTokens& tokens, const StepBatch& batch,
                         const StepSchedule& schedule) {
  LossTerms terms;
  step(tokens, schedule.rate, [&](const HeadOutput& output) {
    if (objective_.is_fused_for(output, communicator_)) {
      const ObjectiveGradients fused = objective_.fused(output, batch, schedule.hard_count);
      torch::autograd::backward({output.cosines, output.prototypes, output.projections},
                                {fused.cosines, fused.prototypes, fused.projections});
      terms = fused.terms;
      return;
    }
    terms = objective_(output, batch, schedule.hard_count, communicator_);
    terms.total.backward();
  });
  for (at::Tensor* term : {&terms.total, &terms.sup, &terms.dapl, &terms.entropy, &terms.separation,
                           &terms.unsup_con, &terms.sup_con}) {
    *term = term->detach();
  }
  return terms;
}

at::Tensor TrainStep::run_with(const TrunkTokens& tokens,
                               const std::function<at::Tensor(const HeadOutput&)>& loss,
                               const at::Tensor& rate) {
  at::Tensor total;
  step(tokens, rate, [&](const HeadOutput& output) {
    total = loss(output);
    total.backward();
  });
  return total.detach();
}

void TrainStep::step(const TrunkTokens& tokens, const at::Tensor& rate,
                     const std::function<void(const HeadOutput&)>& backward) {
  const BufferPool::Scope scope(buffers_);
  parameters_.forget_gradients();
  backward(head_.forward(blocks_.forward(tokens)));
  if (communicator_.size() > 1) {
    at::Tensor gradient = parameters_.flat_gradient();
    communicator_.all_reduce(gradient);
  }
  optimiser_.step(rate);
}

}  // namespace protogcd
