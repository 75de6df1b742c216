// Telling images of a model's classes from images of none (paper, section V): the paper's table.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protogcd/analysis/outlier_measures.h"
#include "protogcd/model/outlier_calibration.h"

namespace protogcd {

struct OutlierStudyOptions {
  std::vector<OutlierScore> scores = {OutlierScore::kMsp, OutlierScore::kMls,
                                      OutlierScore::kEnergy};
  OutlierSampling sampling = OutlierSampling::kAll;
  std::int64_t repeats = 10;
  std::uint64_t seed = 0;
};

/// One score's row of the table: how well it finds the outliers of every set.
struct OutlierRow {
  OutlierScore score;
  std::vector<SampledMeasures> sets;
  OutlierMeasures mean;  ///< over the sets
};

struct OutlierStudy {
  std::vector<std::string> sets;  ///< names
  std::vector<OutlierRow> rows;

  nlohmann::json to_json() const;   ///< in percent
  std::string to_csv() const;       ///< score,set,measure columns in percent with deviations
  std::string to_markdown() const;  ///< a table a score, as the paper prints it
};

struct NamedCosines {
  std::string name;
  at::Tensor cosines;  ///< [N, K]
};

OutlierStudy study_outliers(const ModelInfo& info, const at::Tensor& inside,
                            const std::vector<NamedCosines>& outliers,
                            const OutlierStudyOptions& options);

}  // namespace protogcd
