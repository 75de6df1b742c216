#include "protogcd/gcd/candidate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "protogcd/core/error.h"
#include "protogcd/core/progress.h"
#include "protogcd/gcd/train_step.h"

namespace protogcd {
namespace {

at::Tensor features_of(EvaluationTokens& tokens, const TrainedBlocks& blocks,
                       const Context& context) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  tokens.for_each(context, [&](const TrunkTokens& batch, std::size_t) {
    parts.push_back(unit_rows(blocks.forward(batch)).to(at::kCPU, at::kFloat));
  });
  return at::cat(parts);
}

Candidate describe(TrainingMaterial& material, const TrainedBlocks& blocks,
                   const Context& context) {
  return {.labelled = features_of(material.tokens(SampleSet::kLabelled), blocks, context),
          .unlabelled = features_of(material.tokens(SampleSet::kUnlabelled), blocks, context),
          .prototypes = {}};
}

std::unique_ptr<TrainedBlocks> fresh_blocks(const TrainingMaterial& material,
                                            const Backbone& backbone) {
  return make_trained_blocks(backbone.vit, material.first_trained_block(),
                             material.placement().trained, material.placement().device);
}

}  // namespace

Candidate train_candidate(TrainingMaterial& material, const Backbone& backbone,
                          const CandidateOptions& options, Progress& progress,
                          const Context& context) {
  const Placement& placement = material.placement();
  const auto blocks = fresh_blocks(material, backbone);
  Head head(options.head, options.seed, placement.trained, placement.device);
  SingleProcess alone;
  const Objective objective(options.objective, options.head.classes, {}, placement.trained,
                            placement.device);
  TrainStep step(*blocks, head, objective, options.sgd, alone);
  const Sampler sampler = material.make_sampler(options.seed);
  const auto views = material.make_views(sampler, options.seed);
  const auto per_epoch = static_cast<std::int64_t>(sampler.batches_per_epoch());
  const auto on_device = at::device(placement.device);

  material.prepare_bank(0);
  StepSchedule schedule;
  for (std::int64_t done = 0; done < options.steps; ++done) {
    const std::int64_t epoch = done / per_epoch, in_epoch = done % per_epoch;
    if (in_epoch == 0) {
      views->start_epoch(static_cast<std::uint32_t>(epoch), 0);
      schedule = {
          .rate = at::scalar_tensor(learning_rate(options.schedule, epoch),
                                    on_device.dtype(placement.trained)),
          .hard_count = at::scalar_tensor(
              hard_count(options.schedule, epoch, static_cast<std::int64_t>(sampler.batch_size())),
              on_device.dtype(at::kLong))};
    }
    step.run(views->next(), material.labels_of(sampler, epoch, in_epoch), schedule);
    progress.add();
    if (context.interrupted())
      throw InterruptedError("stopped while the number of classes was estimated");
  }
  Candidate candidate = describe(material, *blocks, context);
  candidate.prototypes = unit_rows(head.named_parameters().at("prototype_layer.weight_v").detach())
                             .to(at::kCPU, at::kFloat);
  for (const at::Tensor& values :
       {candidate.labelled, candidate.unlabelled, candidate.prototypes}) {
    if (!values.isfinite().all().item<bool>()) {
      throw UsageError(fmt::format("training with {} classes diverged: features are no numbers",
                                   options.head.classes),
                       "try a lower --lr, or higher temperatures");
    }
  }
  return candidate;
}

Candidate untrained_candidate(TrainingMaterial& material, const Backbone& backbone,
                              const Context& context) {
  return describe(material, *fresh_blocks(material, backbone), context);
}

}  // namespace protogcd
