// How good predictions are, where the truth is known.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/model/prediction.h"

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
};

/// `truths` [N], negative where unknown.
Evaluation evaluate(const Predictions& predictions, std::span<const std::int32_t> truths,
                    std::int64_t old_classes);

/// Who is taken for whom: a row for each true class, a column for each cluster, in the order in
/// which they match (a right image is on the diagonal), clusters that stand for no class last.
/// `classes` and `clusters` are their names.
std::string confusion_csv(const Predictions& predictions, std::span<const std::int32_t> truths,
                          std::span<const std::string> classes,
                          std::span<const std::string> clusters);

/// Accuracies in percent: all, old, new.
nlohmann::json to_json(const Evaluation& evaluation);
/// "All 71.2, Old 80.1, New 66.0"; "no labels to compare with" where there are none.
std::string in_words(const Evaluation& evaluation);

}  // namespace protogcd
