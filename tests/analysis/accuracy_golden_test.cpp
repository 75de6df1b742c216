// Accuracies and partition scores against the published evaluation code and scikit-learn.
#include <gtest/gtest.h>

#include "protogcd/analysis/accuracy.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

void expect_near(const Accuracy& actual, const nlohmann::json& expected) {
  EXPECT_NEAR(actual.all, expected.at(0).get<double>(), 1e-12);
  EXPECT_NEAR(actual.old_classes, expected.at(1).get<double>(), 1e-12);
  EXPECT_NEAR(actual.new_classes, expected.at(2).get<double>(), 1e-12);
}

TEST(GoldenAccuracy, MatchesThePublishedEvaluation) {
  const auto cases = testing::golden_json().at("acc");
  ASSERT_EQ(cases.size(), 4u);
  for (const auto& one : cases) {
    const Confusion confusion(one.at("y_pred").get<std::vector<std::int32_t>>(),
                              one.at("y_true").get<std::vector<std::int32_t>>());
    const ClusterMapping mapping = match_clusters(confusion);
    const auto old_classes = one.at("k_old").get<std::int32_t>();
    expect_near(clustering_accuracy(confusion, mapping, old_classes), one.at("v2"));
    expect_near(balanced_accuracy(confusion, mapping, old_classes), one.at("v2_balanced"));
    EXPECT_NEAR(normalized_mutual_information(confusion), one.at("nmi").get<double>(), 1e-12);
    EXPECT_NEAR(adjusted_rand_index(confusion), one.at("ari").get<double>(), 1e-12);
  }
}

// scikit-learn's clusters of the golden features, and their accuracy.
TEST(GoldenAccuracy, MatchesThatOfTheGoldenClusters) {
  const SafetensorsFile tensors(testing::golden_folder() / "clustering.safetensors");
  const auto numbers = [&](const char* name) {
    const auto values = testing::values_of<std::int64_t>(tensors.at(name));
    return std::vector<std::int32_t>(values.begin(), values.end());
  };
  const auto expected = testing::golden_json().at("kmeans");
  const Confusion confusion(numbers("kmeans_labels"), numbers("labels"));
  expect_near(clustering_accuracy(confusion, match_clusters(confusion),
                                  expected.at("k_old").get<std::int32_t>()),
              expected.at("acc_v2"));
}

}  // namespace
}  // namespace protogcd
