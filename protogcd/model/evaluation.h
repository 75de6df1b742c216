// How good predictions are, where the truth is known.
#pragma once

#include <span>
#include <string>

#include "protogcd/model/prediction.h"
#include "protogcd/run/evaluation.h"

namespace protogcd {

/// `truths` [N], negative where unknown.
Evaluation evaluate(const Predictions& predictions, std::span<const std::int32_t> truths,
                    std::int64_t old_classes);

/// Who is taken for whom: a row for each true class, a column for each cluster, in the order in
/// which they match (a right image is on the diagonal), clusters that stand for no class last.
/// `classes` and `clusters` are their names.
std::string confusion_csv(const Predictions& predictions, std::span<const std::int32_t> truths,
                          std::span<const std::string> classes,
                          std::span<const std::string> clusters);

}  // namespace protogcd
