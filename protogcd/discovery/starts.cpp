#include "protogcd/discovery/starts.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "protogcd/core/json.h"
#include "protogcd/core/progress.h"
#include "protogcd/discovery/trials.h"

namespace protogcd {
namespace {

/// With four, a poor beginning is left behind nearly always; docs/defaults.md has the figures.
constexpr std::int64_t kUsualStarts = 4;

std::int64_t number_of_starts(const TrainingMaterial& material, const TrainOptions& options) {
  if (!options.method->begins_with_classes() || material.set().count(SampleSet::kUnlabelled) == 0)
    return 1;
  const bool is_usual = options.has_general_settings() && is_worth_trials(material, options);
  return options.beginnings.value_or(is_usual ? kUsualStarts : 1);
}

std::int64_t steps_of_start(const TrainingMaterial& material, const TrainOptions& options) {
  return short_epochs(material, options) * material.steps_per_epoch();
}

}  // namespace

std::size_t Starts::surest() const {
  return static_cast<std::size_t>(std::ranges::min_element(doubt) - doubt.begin());
}

std::int64_t steps_of_starts(const TrainingMaterial& material, const TrainOptions& options) {
  const std::int64_t starts = number_of_starts(material, options);
  return starts > 1 ? starts * steps_of_start(material, options) : 0;
}

std::string start_settings(const TrainingMaterial& material, const TrainOptions& options,
                           std::int64_t k, std::uint64_t seed) {
  return fmt::format("K {}, {} times {} epochs of {}, {} unlabelled images, seed {}", k,
                     number_of_starts(material, options), short_epochs(material, options),
                     options.loop.schedule.epochs, material.set().count(SampleSet::kUnlabelled),
                     seed);
}

Starts try_starts(TrainingMaterial& material, const Backbone& backbone, std::int64_t k,
                  const TrainOptions& options, const Context& context) {
  const std::int64_t count = number_of_starts(material, options);
  if (count == 1) return {};
  const CandidateOptions model = short_training(
      options, material, k, short_epochs(material, options), "beginnings were tried");
  std::vector<CandidateOptions> models;
  for (std::int64_t start = 0; start < count; ++start) {
    models.push_back(model);
    // Far from each other, so that runs of neighbouring seeds share none.
    models.back().seed = context.seed + static_cast<std::uint64_t>(start) * 0x9E3779B97F4A7C15U;
  }
  material.prepare_bank(0);  // its time is not that of the steps
  Progress progress("starts", models.size() * static_cast<std::uint64_t>(model.steps), "steps",
                    context.progress());
  Starts starts;
  for (const Candidate& trained : train_candidates(material, backbone, models, progress, context)) {
    const Prototypes& prototypes = trained.prototypes;
    const at::Tensor logits = prototypes.scores(prototypes.cosines(trained.unlabelled)) /
                              prototypes.temperature;  // [N_u, K]
    const at::Tensor log_p = at::log_softmax(logits, 1);
    starts.doubt.push_back(-(log_p.exp() * log_p).sum(1).mean().item<double>());
    const at::Tensor classes = logits.argmax(1).to(at::kInt);
    const auto* first = classes.const_data_ptr<std::int32_t>();
    starts.classes.emplace_back(first, first + classes.numel());
  }
  const auto [least, most] = std::ranges::minmax(starts.doubt);
  context.log.info(fmt::format(
      "begins where the surest of {} short trainings ended (mean entropy {:.3f}; of the others up "
      "to {:.3f})",
      models.size(), least, most));
  return starts;
}

nlohmann::json Starts::to_json() const {
  return {{"doubt", doubt}, {"classes", classes}};
}

Starts Starts::from_json(const nlohmann::json& json) {
  return {.classes = json.at("classes").get<std::vector<std::vector<std::int32_t>>>(),
          .doubt = json.at("doubt").get<std::vector<double>>()};
}

std::vector<std::optional<double>> class_stability(const Starts& starts,
                                                   const std::vector<std::int32_t>& classes,
                                                   std::int64_t k) {
  if (starts.empty()) return {};
  std::vector<double> sizes(static_cast<std::size_t>(k), 0), sums(sizes.size(), 0);
  for (const std::int32_t c : classes) ++sizes[static_cast<std::size_t>(c)];
  for (std::size_t start = 0; start < starts.classes.size(); ++start) {
    if (start == starts.surest()) continue;  // where the run itself began
    const std::vector<std::int32_t>& other = starts.classes[start];
    std::map<std::int32_t, double> other_sizes;  // of classes that the run may have dropped since
    std::vector<double> best(sizes.size(), 0);
    std::map<std::pair<std::int32_t, std::int32_t>, double> together;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      ++other_sizes[other[i]];
      ++together[{classes[i], other[i]}];
    }
    for (const auto& [pair, count] : together) {
      const auto own = static_cast<std::size_t>(pair.first);
      const double all = sizes[own] + other_sizes.at(pair.second) - count;
      best[own] = std::max(best[own], count / all);
    }
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += best[c];
  }
  std::vector<std::optional<double>> stability(sums.size());
  for (std::size_t c = 0; c < sums.size(); ++c)
    if (sizes[c] > 0) stability[c] = sums[c] / static_cast<double>(starts.classes.size() - 1);
  return stability;
}

}  // namespace protogcd
