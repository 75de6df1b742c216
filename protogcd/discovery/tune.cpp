#include "protogcd/discovery/tune.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/progress.h"
#include "protogcd/core/text.h"
#include "protogcd/data/hidden_split.h"
#include "protogcd/discovery/trials.h"

namespace protogcd {
namespace {

constexpr double kWeightTimes[] = {0.5, 2}, kBorrowTimes[] = {0, 2};  // beside 1
constexpr std::int64_t kDraws = 2;

// How long a trial of the first stage is trained: this part of the run, but within limits, as a
// tenth of few steps is no training and of very many more than is needed. The last stage takes
// twice as long.
constexpr std::int64_t kPartOfRun = 10, kLeastSteps = 100, kMostSteps = 1000, kLastStage = 2;

/// A method's own option; nothing where it has none or none is set.
std::optional<double> method_number(const MethodChoice& method, const std::string& key) {
  MethodChoice copy = method;
  OptionTable table;
  copy->declare(table);
  const Option* option = table.find(key);
  return option == nullptr ? std::nullopt : parse_real(option->to_toml());
}

void set_method_number(MethodChoice& method, const std::string& key, double value) {
  OptionTable table;
  method->declare(table);
  const std::vector<std::string> text = {fmt::format("{}", value)};
  if (const auto problem = table.find(key)->assign(text, OptionSource::kFlag))
    throw InternalError(fmt::format("{}: {}", key, *problem));
}

double weight_of(const TrainOptions& options) {
  return method_number(options.method, options.method->tuned_option()).value_or(0);
}

/// Differences are borrowed to make up for a bank's few views; where there is none, nobody asked
/// for them.
double borrow_of(const TrainOptions& options) {
  return options.material.use_bank ? options.material.borrow.value_or(0) : 0;
}

struct Stages {
  std::int64_t first = 0, last = 0;  ///< epochs of a trial
};

Stages stages_of(const TrainingMaterial& material, const TrainOptions& options) {
  const std::int64_t epochs = options.loop.schedule.epochs, steps = material.steps_per_epoch();
  const std::int64_t least = (kLeastSteps + steps - 1) / steps,
                     most = std::max<std::int64_t>(kMostSteps / steps, 1);
  const std::int64_t first =
      std::min(epochs, std::clamp(epochs / kPartOfRun, std::min(least, most), most));
  return {.first = first, .last = std::min(epochs, kLastStage * first)};
}

/// Standard error of the difference of two scores by the same images: how much it would vary with
/// other images of the same kinds.
double error_of_difference(const TrialScore& one, const TrialScore& other) {
  // Images of old and of new classes are worth different amounts: each kind varies by itself.
  std::map<double, std::vector<double>> kinds;
  for (std::size_t i = 0; i < std::min(one.right.size(), other.right.size()); ++i)
    kinds[one.worth[i]].push_back(static_cast<double>(one.right[i]) -
                                  static_cast<double>(other.right[i]));
  double squared = 0;
  for (const auto& [worth, differences] : kinds) {
    const auto count = static_cast<double>(differences.size());
    const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) / count;
    for (const double difference : differences)
      squared += worth * worth * (difference - mean) * (difference - mean);
  }
  return std::sqrt(squared);
}

/// Trains models of several settings and remembers what they scored.
class Tuner {
 public:
  Tuner(TrainingMaterial& material, const Backbone& backbone, const TrainOptions& options,
        std::int64_t k, const Context& context)
      : material_(material),
        backbone_(backbone),
        options_(options),
        k_(k),
        context_(context),
        stages_(stages_of(material, options)),
        old_share_(expected_old_share(material.set().dataset(), k)) {
    for (std::int64_t draw = 0; draw < kDraws; ++draw) {
      splits_.push_back(std::make_shared<const HiddenSplit>(
          hide_classes(material.set().dataset(), context.seed, static_cast<std::size_t>(draw))));
    }
  }

  Tuning run();

 private:
  CandidateOptions candidate(const TunedSetting& setting, std::int64_t draw,
                             std::int64_t epochs) const;
  /// Each on the first `draws` splits; the scores draw by draw.
  std::vector<TrialScore> try_settings(const std::vector<TunedSetting>& settings,
                                       std::int64_t draws, bool is_last, Progress& progress);
  /// Of the first stage; of equal ones that which was tried first.
  TunedSetting best(bool with_default) const;

  TrainingMaterial& material_;
  const Backbone& backbone_;
  const TrainOptions& options_;
  const std::int64_t k_;
  const Context& context_;
  const Stages stages_;
  const double old_share_;
  std::vector<std::shared_ptr<const HiddenSplit>> splits_;
  Tuning found_;
};

CandidateOptions Tuner::candidate(const TunedSetting& setting, std::int64_t draw,
                                  std::int64_t epochs) const {
  CandidateOptions model =
      short_training(with_setting(options_, setting), material_, k_, epochs, "settings were tried");
  model.seed = context_.seed + static_cast<std::uint64_t>(draw);
  model.plan.split = splits_[static_cast<std::size_t>(draw)];
  model.sees_calibration = true;
  model.may_diverge = !setting.is_default();
  return model;
}

std::vector<TrialScore> Tuner::try_settings(const std::vector<TunedSetting>& settings,
                                            std::int64_t draws, bool is_last, Progress& progress) {
  const std::int64_t epochs = is_last ? stages_.last : stages_.first;
  std::vector<CandidateOptions> models;
  std::vector<TuningTrial> trials;
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    for (const TunedSetting& setting : settings) {
      models.push_back(candidate(setting, draw, epochs));
      trials.push_back({.setting = setting, .draw = draw, .epochs = epochs, .is_last = is_last});
    }
  }
  const std::vector<Candidate> trained =
      train_candidates(material_, backbone_, models, progress, context_);
  std::vector<TrialScore> scores;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    scores.push_back(judge_trial(trained[i], material_.set(), *models[i].plan.split, old_share_));
    trials[i].old_classes = scores[i].old_classes;
    trials[i].new_classes = scores[i].new_classes;
    trials[i].score = scores[i].together;
    found_.trials.push_back(trials[i]);
  }
  return scores;
}

TunedSetting Tuner::best(bool with_default) const {
  const TuningTrial* best = nullptr;
  for (const TuningTrial& trial : found_.trials) {
    if (trial.setting.is_default() && !with_default) continue;
    if (best == nullptr || trial.score > best->score) best = &trial;
  }
  return best->setting;
}

Tuning Tuner::run() {
  const auto start = std::chrono::steady_clock::now();
  const HiddenSplit& split = *splits_.front();
  found_.classes = static_cast<std::int64_t>(labelled_class_count(material_.set().dataset()));
  found_.hidden = static_cast<std::int64_t>(split.hidden_classes());
  material_.prepare_bank(0);  // its time is not that of the steps
  Progress progress("try settings", static_cast<std::uint64_t>(tuning_steps(material_, options_)),
                    "steps", context_.progress());
  std::vector<TunedSetting> settings = {TunedSetting()};
  if (weight_of(options_) > 0)
    for (const double times : kWeightTimes) settings.push_back({.weight = times});
  try_settings(settings, 1, false, progress);
  if (borrow_of(options_) > 0) {
    settings.assign(std::size(kBorrowTimes), best(true));
    for (std::size_t i = 0; i < settings.size(); ++i) settings[i].borrow = kBorrowTimes[i];
    try_settings(settings, 1, false, progress);
  }
  const std::vector<TrialScore> last =
      try_settings({TunedSetting(), best(false)}, kDraws, true, progress);
  double squared = 0;
  for (std::size_t i = 0; i < last.size(); i += 2) {
    const double error = error_of_difference(last[i], last[i + 1]);
    squared += error * error;
  }
  decide(found_, std::sqrt(squared) / static_cast<double>(kDraws));
  const TrainOptions chosen = with_setting(options_, found_.chosen);
  found_.option = options_.method->tuned_option();
  found_.weight = weight_of(chosen);
  found_.borrow = chosen.material.borrow.value_or(0);
  found_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return found_;
}

}  // namespace

std::string why_not_tuned(const Dataset& dataset, const TrainOptions& options) {
  if (!options.method->trains()) return fmt::format("{} does not train", options.method->name());
  const std::string weight = options.method->tuned_option();
  if (weight.empty())
    return fmt::format("{} names no weight that is worth trying", options.method->name());
  if (weight_of(options) == 0 && borrow_of(options) == 0) {
    return fmt::format("{} and {} are 0, and only multiples of them are tried", option_name(weight),
                       option_name("borrow"));
  }
  if (const std::size_t classes = labelled_class_count(dataset); classes < kLeastClassesToHide) {
    return fmt::format("it takes {} labelled classes to hide some of them, and there are {}",
                       kLeastClassesToHide, classes);
  }
  return "";
}

std::int64_t tuning_steps(const TrainingMaterial& material, const TrainOptions& options) {
  const Stages stages = stages_of(material, options);
  std::size_t first = 1;
  if (weight_of(options) > 0) first += std::size(kWeightTimes);
  if (borrow_of(options) > 0) first += std::size(kBorrowTimes);
  return material.steps_per_epoch() *
         (static_cast<std::int64_t>(first) * stages.first + 2 * kDraws * stages.last);
}

std::string tuning_settings(const TrainingMaterial& material, const TrainOptions& options,
                            std::int64_t k, std::uint64_t seed) {
  const Stages stages = stages_of(material, options);
  return fmt::format("K {}, {} {}, borrow {}, {} and {} epochs of {}, seed {}", k,
                     options.method->tuned_option(), weight_of(options), borrow_of(options),
                     stages.first, stages.last, options.loop.schedule.epochs, seed);
}

Tuning tune(TrainingMaterial& material, const Backbone& backbone, const TrainOptions& options,
            std::int64_t k, const Context& context) {
  return Tuner(material, backbone, options, k, context).run();
}

TrainOptions with_setting(const TrainOptions& options, const TunedSetting& setting) {
  TrainOptions result = options;
  if (setting.weight != 1)
    set_method_number(result.method, result.method->tuned_option(),
                      setting.weight * weight_of(options));
  if (setting.borrow != 1) result.material.borrow = setting.borrow * borrow_of(options);
  return result;
}

void decide(Tuning& tuning, double of_images) {
  tuning.chosen = tuning.rival = {};
  std::vector<double> gains;
  for (const TuningTrial& trial : tuning.trials) {
    if (!trial.is_last || trial.setting.is_default()) continue;
    tuning.rival = trial.setting;
    for (const TuningTrial& other : tuning.trials)
      if (other.is_last && other.setting.is_default() && other.draw == trial.draw)
        gains.push_back(trial.score - other.score);
  }
  const auto count = static_cast<double>(gains.size());
  tuning.gain = tuning.error = 0;
  tuning.margin = kTuningMargin;
  if (gains.empty()) return;
  for (const double gain : gains) tuning.gain += gain / count;
  double squares = 0;
  for (const double gain : gains) squares += (gain - tuning.gain) * (gain - tuning.gain);
  if (gains.size() > 1) tuning.error = std::sqrt(squares / (count - 1) / count);
  tuning.error = std::max(tuning.error, of_images);
  if (tuning.gain > tuning.margin + tuning.error) tuning.chosen = tuning.rival;
}

}  // namespace protogcd
