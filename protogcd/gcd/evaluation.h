// How good predictions are, where the truth is known.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/gcd/prediction.h"

namespace protogcd {

struct Evaluation {
  std::int64_t samples = 0;  ///< with known truth
  Accuracy accuracy;         ///< ACC v2, the field's number; fractions, NaN where there is none
  Accuracy balanced, separate;
  double nmi = 0, ari = 0;
  /// Share of old classes: as the mean posterior has it, and among the predicted classes (paper,
  /// appendix). Those of new classes are the rest.
  double marginal_old = 0, predicted_old = 0;
};

/// `truths` [N], negative where unknown.
Evaluation evaluate(const Predictions& predictions, std::span<const std::int32_t> truths,
                    std::int64_t old_classes);

/// Accuracies in percent: all, old, new.
nlohmann::json to_json(const Evaluation& evaluation);
/// "All 71.2, Old 80.1, New 66.0"; "no labels to compare with" where there are none.
std::string in_words(const Evaluation& evaluation);

}  // namespace protogcd
