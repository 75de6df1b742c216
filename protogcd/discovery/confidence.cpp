#include "protogcd/discovery/confidence.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "protogcd/analysis/calibration.h"
#include "protogcd/core/progress.h"
#include "protogcd/data/hidden_split.h"
#include "protogcd/discovery/trials.h"

namespace protogcd {
namespace {

// Times the method's own: below the least the nearest prototype is all, above the most none is told
// from another.
constexpr double kLeastTemperature = 0.1, kMostTemperature = 10;
constexpr std::size_t kLeastJudged = 20;  // fewer images say nothing of how often one is right

/// Some of the images that a trial was judged by.
struct Judged {
  std::vector<float> scores;  ///< [N, K]
  std::vector<bool> right;
  std::vector<double> worth;
};

/// Those whose class is an old one, or those whose class is new.
Judged judged(const TrialScore& score, bool in_new, std::int64_t old_classes) {
  Judged some;
  const at::Tensor rows = score.scores.contiguous(), found = rows.argmax(1);
  const auto* places = found.const_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < score.right.size(); ++i) {
    if ((places[i] >= old_classes) != in_new) continue;
    const auto* row = rows.const_data_ptr<float>() + static_cast<std::int64_t>(i) * rows.size(1);
    some.scores.insert(some.scores.end(), row, row + rows.size(1));
    some.right.push_back(score.right[i]);
    some.worth.push_back(score.worth[i]);
  }
  return some;
}

}  // namespace

bool calibrates_confidence(const TrainingMaterial& material, const TrainOptions& options,
                           std::string& reason) {
  const TrainingSet& set = material.set();
  const bool is_usual = options.has_general_settings() && is_worth_trials(material, options);
  if (!options.method->trains() || set.count(SampleSet::kUnlabelled) == 0 ||
      !options.calibrate_confidence.value_or(is_usual))
    return false;
  if (const std::size_t classes = labelled_class_count(set.dataset());
      classes < kLeastClassesToHide) {
    reason = fmt::format("it takes {} labelled classes to hide some of them, and there are {}",
                         kLeastClassesToHide, classes);
  }
  return reason.empty();
}

std::int64_t confidence_steps(const TrainingMaterial& material, const TrainOptions& options) {
  return short_epochs(material, options) * material.steps_per_epoch();
}

std::string confidence_settings(const TrainingMaterial& material, const TrainOptions& options,
                                std::int64_t k, std::uint64_t seed) {
  return fmt::format("K {}, {} epochs of {}, seed {}", k, short_epochs(material, options),
                     options.loop.schedule.epochs, seed);
}

Confidence calibrate_confidence(TrainingMaterial& material, const Backbone& backbone,
                                const TrainOptions& options, std::int64_t k,
                                const Context& context) {
  const Dataset& dataset = material.set().dataset();
  CandidateOptions model = short_training(options, material, k, short_epochs(material, options),
                                          "it was found out how often predictions are right");
  model.seed = context.seed;
  model.plan.split = std::make_shared<const HiddenSplit>(hide_classes(dataset, context.seed, 0));
  model.sees_calibration = true;
  material.prepare_bank(0);  // its time is not that of the steps
  Progress progress("confidence", static_cast<std::uint64_t>(model.steps), "steps",
                    context.progress());
  const Candidate trained =
      train_candidates(material, backbone, {model}, progress, context).front();
  const HiddenSplit& split = *model.plan.split;
  const TrialScore score =
      judge_trial(trained, material.set(), split, expected_old_share(dataset, k));
  const double own = trained.prototypes.temperature;
  Confidence found{.old_temperature = own, .new_temperature = own, .images = score.right.size()};
  std::vector<float> before, after;
  std::vector<bool> right;
  std::vector<double> worth;
  for (const bool in_new : {false, true}) {
    const Judged some = judged(score, in_new, static_cast<std::int64_t>(split.old_classes));
    if (some.right.empty()) continue;
    double& temperature = in_new ? found.new_temperature : found.old_temperature;
    const auto classes = static_cast<std::size_t>(k);
    // Where none can be right, as all are of hidden classes, the others' share is not known.
    if (some.right.size() >= kLeastJudged && std::ranges::count(some.right, true) > 0) {
      temperature = fit_temperature(some.scores, classes, some.right, some.worth,
                                    kLeastTemperature * own, kMostTemperature * own);
    }
    const auto append = [&](std::vector<float>& to, double at) {
      const std::vector<float> tops = top_posteriors(some.scores, classes, at);
      to.insert(to.end(), tops.begin(), tops.end());
    };
    append(before, own);
    append(after, temperature);
    right.insert(right.end(), some.right.begin(), some.right.end());
    worth.insert(worth.end(), some.worth.begin(), some.worth.end());
  }
  found.error_before = calibration_error(before, right, worth);
  found.error_after = calibration_error(after, right, worth);
  if (found.error_after > found.error_before) {  // least log loss need not be the fairest bet
    found.old_temperature = found.new_temperature = own;
    found.error_after = found.error_before;
  }
  return found;
}

}  // namespace protogcd
