// Compactness and separation of classes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "protogcd/analysis/cluster_metrics.h"
#include "protogcd/core/error.h"

namespace protogcd {
namespace {

// Class 0 lies along x and y, class 1 is one image along z, class 2 one along -z.
const std::vector<float> kFeatures = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, -1};
const std::vector<std::int32_t> kTruths = {0, 0, 1, 2};

TEST(ClusterMetrics, FollowThePapersFormulas) {
  const ClusterMetrics metrics = cluster_metrics(kFeatures, 3, kTruths, 2);
  // The mean direction of class 0 is (1, 1, 0) / sqrt(2).
  EXPECT_NEAR(metrics.all.compactness, (std::sqrt(0.5) + 1 + 1) / 3, 1e-12);
  EXPECT_NEAR(metrics.old_classes.compactness, (std::sqrt(0.5) + 1) / 2, 1e-12);
  EXPECT_NEAR(metrics.new_classes.compactness, 1, 1e-12);
  EXPECT_NEAR(metrics.all.separation, -1.0 / 3, 1e-12);  // pairs: 0, 0, -1
  EXPECT_NEAR(metrics.old_classes.separation, 0, 1e-12);
  EXPECT_TRUE(std::isnan(metrics.new_classes.separation)) << "one class has no other";
  EXPECT_EQ(metrics.all.classes, 3);
}

TEST(ClusterMetrics, UnknownTruthsAndEmptyClassesAreLeftOut) {
  const std::vector<std::int32_t> truths = {5, 5, -1, 7};
  const ClusterMetrics metrics = cluster_metrics(kFeatures, 3, truths, 6);
  EXPECT_EQ(metrics.all.classes, 2);
  EXPECT_NEAR(metrics.all.compactness, (std::sqrt(0.5) + 1) / 2, 1e-12);
  const ClusterMetrics none = cluster_metrics({}, 3, {}, 2);
  EXPECT_EQ(none.all.classes, 0);
  EXPECT_TRUE(std::isnan(none.all.compactness));
}

TEST(ClusterMetrics, AFeatureThatIsNotANumberIsAnError) {
  std::vector<float> broken = kFeatures;
  broken[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(cluster_metrics(broken, 3, kTruths, 2), DataError);
}

}  // namespace
}  // namespace protogcd
