// Outlier measures against those of the published code.
#include <gtest/gtest.h>

#include "protogcd/analysis/outlier_measures.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

TEST(GoldenOutliers, MeasuresMatchThePublishedOnesTiesIncluded) {
  const auto cases = testing::golden_json().at("ood");
  ASSERT_EQ(cases.size(), 3u);
  for (const auto& one : cases) {
    auto inside = one.at("id_scores").get<std::vector<double>>();
    auto outside = one.at("ood_scores").get<std::vector<double>>();
    for (double& score : inside) score = -score;  // there, higher is less outlying
    for (double& score : outside) score = -score;
    const OutlierMeasures measures = measure_outliers(inside, outside);
    EXPECT_NEAR(measures.auroc, one.at("auroc").get<double>(), 1e-12);
    EXPECT_NEAR(measures.auroc, one.at("auroc_out").get<double>(), 1e-12);
    EXPECT_NEAR(measures.aupr_in, one.at("aupr_in").get<double>(), 1e-12);
    EXPECT_NEAR(measures.fpr95_in, one.at("fpr95_in").get<double>(), 1e-12);
    EXPECT_NEAR(measures.aupr_out, one.at("aupr_out").get<double>(), 1e-12);
    EXPECT_NEAR(measures.fpr95_out, one.at("fpr95_out").get<double>(), 1e-12);
  }
}

}  // namespace
}  // namespace protogcd
