#include "protogcd/training/candidate.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>

#include "protogcd/cluster/kmeans.h"
#include "protogcd/core/error.h"
#include "protogcd/core/progress.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/head.h"
#include "protogcd/training/kept_features.h"
#include "protogcd/training/set_features.h"
#include "protogcd/training/step_runner.h"

namespace protogcd {
namespace {

Candidate describe(SetFeatures& sets) {
  return {.labelled = unit_features(sets, SampleSet::kLabelled),
          .unlabelled = unit_features(sets, SampleSet::kUnlabelled),
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
  Training(TrainingMaterial& material, const Backbone& backbone, const CandidateOptions& options,
           const Context& context)
      : options_(options),
        blocks_(fresh_blocks(material, backbone)),
        method_(options.method->make(prepared_input(material, backbone, *options.method,
                                                    options.classes, options.schedule.epochs,
                                                    options.seed, options.plan, context))),
        step_(*blocks_, *method_, options.sgd, alone_),
        runner_(step_, *method_, material, options.seed, options.schedule, options.plan),
        sets_(material, *blocks_, context, options.plan) {}

  void run(Progress& progress, const Context& context);
  Candidate result();

 private:
  const CandidateOptions options_;
  std::unique_ptr<TrainedBlocks> blocks_;
  std::unique_ptr<Method> method_;
  SingleProcess alone_;
  TrainStep step_;
  StepRunner runner_;
  MaterialFeatures sets_;
};

void Training::run(Progress& progress, const Context& context) {
  const std::int64_t per_epoch = runner_.steps_per_epoch();
  for (std::int64_t done = 0; done < options_.steps; ++done) {
    if (done % per_epoch == 0) {
      static_cast<void>(runner_.take_times());  // nobody asks for them, and they would add up
      runner_.start_epoch(done / per_epoch, 0, sets_);
    }
    runner_.run();
    progress.add();
    if (context.interrupted())
      throw InterruptedError(fmt::format("stopped while {}", options_.purpose));
  }
}

Candidate Training::result() {
  Candidate candidate = describe(sets_);
  candidate.prototypes = method_->outcome(sets_).prototypes;
  for (at::Tensor* values : {&candidate.prototypes.centres, &candidate.prototypes.bias})
    if (values->defined()) *values = values->to(at::kCPU, at::kFloat);
  if (options_.sees_calibration)
    candidate.calibration = unit_features(sets_, SampleSet::kCalibration);
  if (options_.may_diverge) return candidate;
  for (const at::Tensor& values :
       {candidate.labelled, candidate.unlabelled, candidate.prototypes.centres}) {
    if (!values.isfinite().all().item<bool>()) {
      throw TrainingError(fmt::format("training with {} classes diverged: features are no numbers",
                                      options_.classes),
                          fmt::format("try a lower {}, or higher temperatures", option_name("lr")));
    }
  }
  return candidate;
}

/// Steps of small models leave cores idle: two trainings with a core each are half as fast again as
/// one after the other with both.
void run_side_by_side(const std::vector<std::unique_ptr<Training>>& trainings, Progress& progress,
                      const Context& context) {
  const std::size_t share = context.threads / trainings.size();
  const ComputeThreads compute_threads(share);
  std::vector<std::exception_ptr> errors(trainings.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    threads.emplace_back([&, i] {
      const ComputeThreads own_threads(share);
      try {
        trainings[i]->run(progress, context);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  threads.clear();  // waits for them
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace

std::vector<Candidate> train_candidates(
    TrainingMaterial& material, const Backbone& backbone,
    const std::vector<CandidateOptions>& options, Progress& progress, const Context& context,
    const std::function<void(std::size_t, const Candidate&)>& trained) {
  const bool from_bank = std::ranges::none_of(
      options, [](const CandidateOptions& one) { return one.plan.fresh_views; });
  if (from_bank) material.prepare_bank(0);
  const std::size_t together = from_bank && material.is_shareable() ? context.threads : 1;
  std::vector<Candidate> candidates;
  while (candidates.size() < options.size()) {
    std::vector<std::unique_ptr<Training>> trainings;
    const std::size_t count = std::min(together, options.size() - candidates.size());
    for (std::size_t i = 0; i < count; ++i) {
      trainings.push_back(
          std::make_unique<Training>(material, backbone, options[candidates.size() + i], context));
    }
    if (count > 1) {
      run_side_by_side(trainings, progress, context);
    } else {
      trainings[0]->run(progress, context);
    }
    for (const auto& training : trainings) {
      candidates.push_back(training->result());
      if (trained) trained(candidates.size() - 1, candidates.back());
    }
  }
  return candidates;
}

MethodInput prepared_input(TrainingMaterial& material, const Backbone& backbone,
                           const MethodOptions& method, std::int64_t k, std::int64_t epochs,
                           std::uint64_t seed, const TrainingPlan& plan, const Context& context) {
  MethodInput input = material.method_input(k, epochs, seed, plan);
  if (method.groups() == 0) return input;
  const auto blocks = fresh_blocks(material, backbone);
  MaterialFeatures sets(material, *blocks, context, plan);
  const at::Tensor rows = at::cat(
      {unit_features(sets, SampleSet::kLabelled), unit_features(sets, SampleSet::kUnlabelled)});
  const Clustering found =
      kmeans(Points(rows, "features"),
             {.k = std::min(method.groups(), rows.size(0)), .seed = seed, .stop = sets.stop()});
  const at::Tensor groups = found.labels.to(at::kCPU, at::kInt).contiguous();
  const auto* first = groups.const_data_ptr<std::int32_t>();
  input.groups.assign(first, first + groups.numel());
  return input;
}

at::Tensor untrained_features(TrainingMaterial& material, const Backbone& backbone, SampleSet set,
                              const Context& context) {
  const auto blocks = fresh_blocks(material, backbone);
  if (const auto& folder = material.features_folder(); !folder.empty())
    return kept_features(material, backbone, *blocks, set, folder, context);
  MaterialFeatures sets(material, *blocks, context);
  return unit_features(sets, set);
}

Candidate untrained_candidate(TrainingMaterial& material, const Backbone& backbone,
                              const Context& context) {
  const auto features = [&](SampleSet set) {
    return untrained_features(material, backbone, set, context);
  };
  return {.labelled = features(SampleSet::kLabelled),
          .unlabelled = features(SampleSet::kUnlabelled),
          .prototypes = {}};
}

}  // namespace protogcd
