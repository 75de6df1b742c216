// Public. Last and best epochs of a run, where the truth is known. Published numbers are often
// those of the epoch that was best by the truth of the images they are told of: an oracle, which
// nobody has whose images carry no labels. It stands beside the last epoch's here so that both can
// be compared with their like; it chooses nothing, and the saved model is the last epoch's.
//
// metrics.jsonl alone decides: a resumed run keeps its lines, so it tells what an uninterrupted one
// does.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "protogcd/run/evaluation.h"

namespace protogcd {

struct EpochAccuracy {
  std::int64_t epoch = 0;                                      ///< from 0, as in metrics.jsonl
  std::optional<Evaluation> on_unlabelled = {}, on_test = {};  ///< where their truth is known
};

struct EpochComparison {
  std::int64_t evaluated = 0;  ///< epochs that it compares
  EpochAccuracy last;
  /// Highest All on these images; the earliest of equal ones.
  std::optional<EpochAccuracy> best_on_unlabelled = {}, best_on_test = {};
};

/// Of the lines of metrics.jsonl; nothing where no epoch was evaluated by a truth.
std::optional<EpochComparison> compare_epochs(std::span<const nlohmann::json> metrics);

/// Adds `last`, `best_on_unlabelled`, `best_on_test` and `evaluated_epochs` to a result.
void add_to_json(const EpochComparison& comparison, nlohmann::json& result);
/// What `add_to_json` added; nothing in results without it.
std::optional<EpochComparison> epoch_comparison_from_json(const nlohmann::json& result);

/// Which epoch was the best by the truth of the unlabelled images, and its accuracies; nothing
/// where it was the last one, or that truth is not known.
std::string in_words(const EpochComparison& comparison);

}  // namespace protogcd
