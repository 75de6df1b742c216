#include "protogcd/training/candidate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>

#include "protogcd/core/error.h"
#include "protogcd/core/progress.h"
#include "protogcd/nn/device.h"
#include "protogcd/training/step_runner.h"

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

/// A candidate on its way.
class Training {
 public:
  Training(TrainingMaterial& material, const Backbone& backbone, const CandidateOptions& options)
      : material_(material),
        options_(options),
        placement_(material.placement()),
        blocks_(fresh_blocks(material, backbone)),
        head_(options.head, options.seed, placement_.trained, placement_.device),
        objective_(options.objective, options.head.classes, {}, placement_.trained,
                   placement_.device),
        step_(*blocks_, head_, objective_, options.sgd, alone_),
        sampler_(material.make_sampler(options.seed)),
        runner_(step_, material, sampler_, options.seed, options.schedule) {}

  void run(Progress& progress, const Context& context);
  Candidate result(const Context& context);

 private:
  TrainingMaterial& material_;
  const CandidateOptions options_;
  const Placement placement_;
  std::unique_ptr<TrainedBlocks> blocks_;
  Head head_;
  SingleProcess alone_;
  Objective objective_;
  TrainStep step_;
  Sampler sampler_;
  StepRunner runner_;
};

void Training::run(Progress& progress, const Context& context) {
  const auto per_epoch = static_cast<std::int64_t>(sampler_.batches_per_epoch());
  for (std::int64_t done = 0; done < options_.steps; ++done) {
    if (done % per_epoch == 0) {
      static_cast<void>(runner_.take_times());  // nobody asks for them, and they would add up
      runner_.start_epoch(done / per_epoch, 0);
    }
    runner_.run();
    progress.add();
    if (context.interrupted())
      throw InterruptedError("stopped while the number of classes was estimated");
  }
}

Candidate Training::result(const Context& context) {
  Candidate candidate = describe(material_, *blocks_, context);
  candidate.prototypes = unit_rows(head_.named_parameters().at("prototype_layer.weight_v").detach())
                             .to(at::kCPU, at::kFloat);
  for (const at::Tensor& values :
       {candidate.labelled, candidate.unlabelled, candidate.prototypes}) {
    if (!values.isfinite().all().item<bool>()) {
      throw UsageError(fmt::format("training with {} classes diverged: features are no numbers",
                                   options_.head.classes),
                       "try a lower --lr, or higher temperatures");
    }
  }
  return candidate;
}

/// Steps of small models leave cores idle: two trainings with a core each are half as fast again as
/// one after the other with both.
void run_side_by_side(const std::vector<std::unique_ptr<Training>>& trainings, Progress& progress,
                      const Context& context) {
  std::vector<std::exception_ptr> errors(trainings.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    threads.emplace_back([&, i] {
      set_compute_threads(context.threads / trainings.size());
      try {
        trainings[i]->run(progress, context);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  set_compute_threads(context.threads);
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace

std::vector<Candidate> train_candidates(TrainingMaterial& material, const Backbone& backbone,
                                        const std::vector<CandidateOptions>& options,
                                        Progress& progress, const Context& context) {
  material.prepare_bank(0);
  const std::size_t together = material.is_shareable() ? context.threads : 1;
  std::vector<Candidate> candidates;
  while (candidates.size() < options.size()) {
    std::vector<std::unique_ptr<Training>> trainings;
    const std::size_t count = std::min(together, options.size() - candidates.size());
    for (std::size_t i = 0; i < count; ++i) {
      trainings.push_back(
          std::make_unique<Training>(material, backbone, options[candidates.size() + i]));
    }
    if (count > 1) {
      run_side_by_side(trainings, progress, context);
    } else {
      trainings[0]->run(progress, context);
    }
    for (const auto& training : trainings) candidates.push_back(training->result(context));
  }
  return candidates;
}

Candidate untrained_candidate(TrainingMaterial& material, const Backbone& backbone,
                              const Context& context) {
  return describe(material, *fresh_blocks(material, backbone), context);
}

}  // namespace protogcd
