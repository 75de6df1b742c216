#include "protogcd/discovery/trials.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "protogcd/analysis/accuracy.h"

namespace protogcd {
namespace {

/// A short training's part of the run's epochs, and the steps below which predictions are not yet
/// sure of anything.
constexpr std::int64_t kShortPart = 5, kLeastShortSteps = 450;

}  // namespace

std::int64_t short_epochs(const TrainingMaterial& material, const TrainOptions& options) {
  const std::int64_t all = options.loop.schedule.epochs;
  const std::int64_t least = kLeastShortSteps / material.steps_per_epoch();
  return std::clamp<std::int64_t>(std::max(all / kShortPart, least), 1, all);
}

bool is_worth_trials(const TrainingMaterial& material, const TrainOptions& options) {
  return options.epochs() * material.steps_per_epoch() > kLeastShortSteps;
}

CandidateOptions short_training(const TrainOptions& options, const TrainingMaterial& material,
                                std::int64_t k, std::int64_t epochs, const char* purpose) {
  CandidateOptions model{.classes = k,
                         .method = options.method,
                         .schedule = options.loop.schedule,
                         .sgd = options.loop.sgd,
                         .steps = epochs * material.steps_per_epoch(),
                         .plan = {.split = {}, .borrow = options.material.borrow},
                         .purpose = purpose};
  model.schedule.epochs = epochs;
  model.method->change_epochs(options.loop.schedule.epochs, epochs);
  return model;
}

TrialScore judge_trial(const Candidate& model, const TrainingSet& set, const HiddenSplit& split,
                       double old_share) {
  constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();
  for (const at::Tensor& values : {model.unlabelled, model.calibration, model.prototypes.centres})
    if (!values.isfinite().all().item<bool>())
      return {.old_classes = kNotMeasured, .new_classes = kNotMeasured};
  // The hidden images are the first of its unlabelled ones.
  const at::Tensor features = at::cat(
      {model.unlabelled.narrow(0, 0, std::ssize(split.hidden)), model.calibration});  // [N, D]
  const at::Tensor scores = model.prototypes.scores(model.prototypes.cosines(features));
  const at::Tensor nearest = scores.argmax(1).to(at::kInt);
  const std::span found(nearest.const_data_ptr<std::int32_t>(),
                        static_cast<std::size_t>(nearest.numel()));
  const auto number = [&](std::int32_t label) {
    return split.numbers[static_cast<std::size_t>(label)];
  };
  std::vector<std::int32_t> wanted;
  const std::span<const Sample> labelled = set.of(SampleSet::kLabelled);
  for (const std::uint32_t place : split.hidden) wanted.push_back(number(labelled[place].label));
  // The truth of an image kept out is the label that it was given.
  for (const Sample& sample : set.of(SampleSet::kCalibration))
    wanted.push_back(number(sample.truth));
  const auto old_classes = static_cast<std::int32_t>(split.old_classes);
  const Confusion confusion(found, wanted);
  const ClusterMapping mapping = match_clusters(confusion);
  const Accuracy accuracy = clustering_accuracy(confusion, mapping, old_classes);
  const auto of_old =
      std::ranges::count_if(wanted, [&](auto label) { return label < old_classes; });
  if (of_old == 0) old_share = 0;
  const double worth_of_old = of_old == 0 ? 0 : old_share / static_cast<double>(of_old),
               worth_of_new = (1 - old_share) / static_cast<double>(std::ssize(wanted) - of_old);
  TrialScore score{
      .old_classes = accuracy.old_classes, .new_classes = accuracy.new_classes, .scores = scores};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    score.worth.push_back(wanted[i] < old_classes ? worth_of_old : worth_of_new);
    score.right.push_back(mapping.class_of_cluster[static_cast<std::size_t>(found[i])] ==
                          wanted[i]);
  }
  score.together = (1 - old_share) * accuracy.new_classes;
  if (of_old > 0) score.together += old_share * accuracy.old_classes;
  return score;
}

double expected_old_share(const Dataset& dataset, std::int64_t k) {
  std::vector<double> labelled(dataset.old_classes, 0);
  double images = 0;
  for (const Sample& sample : dataset.samples) {
    if (sample.set == SampleSet::kTest) continue;
    ++images;
    if (sample.set == SampleSet::kLabelled) ++labelled[static_cast<std::size_t>(sample.label)];
    if (sample.set == SampleSet::kCalibration) ++labelled[static_cast<std::size_t>(sample.truth)];
  }
  // A class with more labels than classes have images on average is not without other images.
  constexpr double kLeastLeft = 0.1;
  const double size = images / static_cast<double>(k);
  double old = 0;
  for (const double count : labelled) old += std::max(size - count, kLeastLeft * size);
  const double of_new = size * (static_cast<double>(k) - static_cast<double>(labelled.size()));
  return old + of_new > 0 ? old / (old + of_new) : 1;
}

}  // namespace protogcd
