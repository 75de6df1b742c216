// Public. How good predictions are, where the truth is known: the numbers, and how they are
// written.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/analysis/bootstrap.h"

namespace protogcd {

struct Evaluation {
  std::int64_t samples = 0;  ///< with known truth
  Accuracy accuracy;         ///< ACC v2, the field's number; fractions, NaN where there is none
  Accuracy balanced, separate;
  double nmi = 0, ari = 0;
  /// Share of old classes: as the mean posterior has it, and among the predicted classes (paper,
  /// appendix). Those of new classes are the rest.
  double marginal_old = 0, predicted_old = 0;
  /// Mean confidence over images of old and of new classes, by their truth; NaN: no images. Their
  /// difference is the model's bias towards what it has labels of.
  double confidence_old = 0, confidence_new = 0;
  std::optional<AccuracyIntervals> intervals = {};  ///< of `accuracy`; older results have none
};

/// Accuracies in percent: all, old, new, and `intervals` of them, [low, high] each; a group without
/// images has none.
nlohmann::json to_json(const Evaluation& evaluation);
/// Only these accuracies, `samples` and `intervals`.
nlohmann::json accuracy_to_json(const Evaluation& evaluation);
/// What `to_json` wrote, to the last bit. Only `all`, `old` and `new` must be there; numbers that
/// are not are NaN.
Evaluation evaluation_from_json(const nlohmann::json& json);
/// "All 71.2, Old 80.1, New 66.0"; "no labels to compare with" where there are none.
std::string in_words(const Evaluation& evaluation);
/// "All 71.2 [70.0, 72.4], Old 80.1 [78.2, 82.0], New 66.0 [64.5, 67.5]".
std::string in_words_with_intervals(const Evaluation& evaluation);

}  // namespace protogcd
