// k-means and semi-supervised k-means against scikit-learn and the published code.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/cluster/kmeans.h"
#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/nn/state_dict.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

std::vector<std::int32_t> numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kInt).contiguous();
  return {flat.const_data_ptr<std::int32_t>(), flat.const_data_ptr<std::int32_t>() + flat.numel()};
}

void expect_same_partition(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(adjusted_rand_index(Confusion(numbers(actual), numbers(expected))), 1.0);
}

void expect_accuracy(const at::Tensor& clusters, const at::Tensor& truths, std::int32_t old,
                     const nlohmann::json& expected) {
  const Confusion confusion(numbers(clusters), numbers(truths));
  const Accuracy actual = clustering_accuracy(confusion, match_clusters(confusion), old);
  EXPECT_NEAR(actual.all, expected.at(0).get<double>(), 1e-12);
  EXPECT_NEAR(actual.old_classes, expected.at(1).get<double>(), 1e-12);
  EXPECT_NEAR(actual.new_classes, expected.at(2).get<double>(), 1e-12);
}

/// Both ways to compute: float32 has bounds and bfloat16, float64 is plain.
class GoldenKMeans : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::set_num_threads(1); }  // 900 rows: waking threads costs more

  const StateDict file_ = load_state_dict(testing::golden_folder() / "clustering.safetensors");
  const at::Tensor labels_ = *file_.find("labels"), labelled_ = *file_.find("labelled");
  const Points points_{file_.find("features")->to(GetParam())};
  const nlohmann::json json_ = testing::golden_json();
  const std::int64_t k_ = json_.at("kmeans").at("k");
  const std::int32_t old_ = json_.at("kmeans").at("k_old");
};

TEST_P(GoldenKMeans, ReachesTheInertiaAndPartitionOfScikitLearn) {
  const Clustering result = kmeans(points_, {.k = k_, .starts = 20});
  const double expected = json_.at("kmeans").at("inertia_best_of_20");
  EXPECT_NEAR(result.inertia, expected, 1e-5 * expected);
  expect_same_partition(result.labels, *file_.find("kmeans_labels"));
  expect_accuracy(result.labels, labels_, old_, json_.at("kmeans").at("acc_v2"));
}

TEST_P(GoldenKMeans, SemiSupervisedReachesThatOfThePublishedCode) {
  const at::Tensor known = at::where(labelled_ > 0, labels_, -1);
  const Clustering result = semi_supervised_kmeans(points_, known, {.k = k_, .starts = 50});
  const auto expected = json_.at("semi_supervised_kmeans");
  const double inertia = expected.at("inertia");
  EXPECT_NEAR(result.inertia, inertia, 1e-5 * inertia);
  const at::Tensor rest = (labelled_ == 0).nonzero().squeeze(1);
  expect_same_partition(result.labels.index_select(0, rest),
                        *file_.find("ss_kmeans_unlabelled_pred"));
  expect_accuracy(result.labels.index_select(0, rest), labels_.index_select(0, rest), old_,
                  expected.at("acc_v2_unlabelled"));
}

INSTANTIATE_TEST_SUITE_P(Types, GoldenKMeans, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& type) { return std::string(at::toString(type.param)); });

}  // namespace
}  // namespace protogcd
