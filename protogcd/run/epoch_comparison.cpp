#include "protogcd/run/epoch_comparison.h"

#include <fmt/core.h>

#include <cmath>

#include "protogcd/core/json.h"

namespace protogcd {
namespace {

constexpr const char *kLast = "last", *kBestOnUnlabelled = "best_on_unlabelled",
                     *kBestOnTest = "best_on_test", *kEvaluated = "evaluated_epochs";
constexpr const char *kUnlabelled = "unlabelled", *kTest = "test", *kEpoch = "epoch";

/// Nothing where no truth was known.
std::optional<Evaluation> known_evaluation(const nlohmann::json& line, const char* set) {
  const auto found = line.find(set);
  if (found == line.end() || !found->is_object()) return std::nullopt;
  Evaluation evaluation = evaluation_from_json(*found);
  if (std::isnan(evaluation.accuracy.all)) return std::nullopt;
  return evaluation;
}

EpochAccuracy accuracy_of_epoch(const nlohmann::json& line) {
  return {.epoch = count_at(line, kEpoch),
          .on_unlabelled = known_evaluation(line, kUnlabelled),
          .on_test = known_evaluation(line, kTest)};
}

nlohmann::json epoch_to_json(const EpochAccuracy& epoch) {
  nlohmann::json json = {{kEpoch, epoch.epoch}};
  if (epoch.on_unlabelled) json[kUnlabelled] = accuracy_to_json(*epoch.on_unlabelled);
  if (epoch.on_test) json[kTest] = accuracy_to_json(*epoch.on_test);
  return json;
}

void keep_better(std::optional<EpochAccuracy>& best, const EpochAccuracy& epoch,
                 std::optional<Evaluation> EpochAccuracy::*on) {
  if (!(epoch.*on)) return;
  if (!best || (epoch.*on)->accuracy.all > ((*best).*on)->accuracy.all) best = epoch;
}

}  // namespace

std::optional<EpochComparison> compare_epochs(std::span<const nlohmann::json> metrics) {
  EpochComparison comparison;
  for (const nlohmann::json& line : metrics) {
    const EpochAccuracy epoch = accuracy_of_epoch(line);
    if (!epoch.on_unlabelled && !epoch.on_test) continue;
    ++comparison.evaluated;
    comparison.last = epoch;
    keep_better(comparison.best_on_unlabelled, epoch, &EpochAccuracy::on_unlabelled);
    keep_better(comparison.best_on_test, epoch, &EpochAccuracy::on_test);
  }
  if (comparison.evaluated == 0) return std::nullopt;
  return comparison;
}

void add_to_json(const EpochComparison& comparison, nlohmann::json& result) {
  result[kEvaluated] = comparison.evaluated;
  result[kLast] = epoch_to_json(comparison.last);
  if (comparison.best_on_unlabelled)
    result[kBestOnUnlabelled] = epoch_to_json(*comparison.best_on_unlabelled);
  if (comparison.best_on_test) result[kBestOnTest] = epoch_to_json(*comparison.best_on_test);
}

std::optional<EpochComparison> epoch_comparison_from_json(const nlohmann::json& result) {
  if (!result.contains(kLast)) return std::nullopt;
  EpochComparison comparison{.evaluated = count_at(result, kEvaluated),
                             .last = accuracy_of_epoch(result.at(kLast))};
  if (result.contains(kBestOnUnlabelled))
    comparison.best_on_unlabelled = accuracy_of_epoch(result.at(kBestOnUnlabelled));
  if (result.contains(kBestOnTest))
    comparison.best_on_test = accuracy_of_epoch(result.at(kBestOnTest));
  return comparison;
}

std::string in_words(const EpochComparison& comparison) {
  const auto& best = comparison.best_on_unlabelled;
  if (!best || !best->on_unlabelled || best->epoch == comparison.last.epoch) return {};
  return fmt::format(
      "by the truth of the unlabelled images (an oracle) epoch {} was the best of {} that were "
      "evaluated: {}; the model is the last epoch's",
      best->epoch + 1, comparison.evaluated, in_words(*best->on_unlabelled));
}

}  // namespace protogcd
