#include "protogcd/model/outlier_calibration.h"

#include <fmt/core.h>

#include <ATen/ATen.h>

#include "protogcd/analysis/outlier_measures.h"
#include "protogcd/analysis/von_mises_fisher.h"
#include "protogcd/core/error.h"

namespace protogcd {

std::vector<double> outlier_scores(const ModelInfo& info, OutlierScore score,
                                   const at::Tensor& cosines) {
  if (score == OutlierScore::kVonMises && !info.outliers) {
    throw UsageError(
        option_name("score") + " vmf: the model does not know how concentrated its classes are",
        fmt::format("`protogcd ood {}` with images of its classes ({}) finds out",
                    option_name("calibrate"), option_name("id")));
  }
  const OutlierScorer scorer = info.outlier_scorer();
  const at::Tensor rows = cosines.contiguous();
  const auto k = static_cast<std::size_t>(rows.size(1));
  std::vector<double> scores(static_cast<std::size_t>(rows.size(0)));
  for (std::size_t i = 0; i < scores.size(); ++i)
    scores[i] = scorer(score, {rows.const_data_ptr<float>() + i * k, k});
  return scores;
}

OutlierCalibration calibrate_outliers(const ModelInfo& info, const at::Tensor& cosines,
                                      OutlierScore score, double kept, const at::Tensor& held_out) {
  if (cosines.size(0) == 0)
    throw DataError("no image of a known class to calibrate the outlier threshold on");
  const auto [best, label] = cosines.max(1);
  const at::Tensor labels = label.to(at::kInt).contiguous(), nearest = best.contiguous();
  const auto n = static_cast<std::size_t>(cosines.size(0));
  ModelInfo calibrated = info;
  calibrated.outliers = {.score = score,
                         .kept = kept,
                         .threshold = 0,
                         .concentrations = fit_concentrations(
                             {labels.const_data_ptr<std::int32_t>(), n},
                             {nearest.const_data_ptr<float>(), n}, info.k(), info.width),
                         .images = cosines.size(0)};
  const bool has_held_out = held_out.defined();
  calibrated.outliers->threshold =
      threshold_keeping(outlier_scores(calibrated, score, has_held_out ? held_out : cosines), kept);
  if (has_held_out) {
    calibrated.outliers->images = held_out.size(0);
    calibrated.outliers->held_out = true;
  }
  return *calibrated.outliers;
}

}  // namespace protogcd
