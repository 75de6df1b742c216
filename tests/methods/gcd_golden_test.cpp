// GCD against the numbers of its public release: losses and gradients behind its projection, and
// semi-supervised k-means with the release's first centroids.
#include <ATen/Parallel.h>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/cluster/seeding.h"
#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/methods/losses.h"
#include "tests/methods/method_golden.h"

namespace protogcd {
namespace {

using testing::deviation;

class GcdGolden : public ::testing::Test {
 protected:
  const at::Tensor& tensor(const std::string& name) const { return file_.tensors.at(name); }
  StepBatch batch(at::ScalarType type, at::Device device) const {
    return {.labels = tensor("labels").to(device),
            .labelled = tensor("mask_labelled").to(device, type)};
  }

  void SetUp() override { at::set_num_threads(1); }  // few rows: waking threads costs more
  void expect_step(at::ScalarType type, at::Device device, double tolerance) const;

  const StateDict file_ =
      load_state_dict(testing::golden_folder() / "baselines" / "gcd.safetensors");
  const nlohmann::json json_ = testing::baselines_json().at("gcd");
};

void GcdGolden::expect_step(at::ScalarType type, at::Device device, double tolerance) const {
  MethodChoice choice = find_method("gcd");
  OptionTable table;
  choice->declare(table);
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"head_hidden", json_.at("hidden_dim").dump()},
                                          {"projection", json_.at("bottleneck_dim").dump()},
                                          {"wide_projection", json_.at("out_dim").dump()}})
    ASSERT_FALSE(table.find(key)->assign(std::vector<std::string>{value}, OptionSource::kFlag));
  const auto method = choice->make({.width = json_.at("in_dim"),
                                    .classes = std::vector<std::string>(13),
                                    .old_classes = json_.at("K_old"),
                                    .epochs = 200,
                                    .type = type,
                                    .device = device});
  const auto parameters = method->parameters();
  EXPECT_EQ(parameters.size(), 7u);
  for (const auto& [name, value] : parameters) {
    value.copy_(tensor("head." + name));
    value.requires_grad_(true);
  }
  StepBatch step = batch(type, device);
  step.features = tensor("x").to(device, type, false, /*copy=*/true).requires_grad_(true);
  SingleProcess alone;
  const StepLoss loss = method->loss({step}, alone);
  const auto expect_near = [&](const at::Tensor& value, const char* name) {
    const double number = json_.at("head").at(name);
    EXPECT_NEAR(value.item<double>(), number, tolerance * std::abs(number)) << name;
  };
  expect_near(loss.total, "total");
  expect_near(loss.reported[0], "unsup");
  expect_near(loss.reported[1], "sup");
  loss.total.backward();
  EXPECT_LT(deviation(step.features.grad(), tensor("grad.x")), tolerance);
  for (const auto& [name, value] : parameters)
    EXPECT_LT(deviation(value.grad(), tensor("grad.head." + name)), tolerance) << name;
}

TEST_F(GcdGolden, LossesAndGradientsInDouble) {
  expect_step(at::kDouble, at::kCPU, 1e-9);
}

TEST_F(GcdGolden, LossesAndGradientsInFloat) {
  expect_step(at::kFloat, at::kCPU, 1e-5);
}

TEST_F(GcdGolden, LossesAndGradientsOnCuda) {
  PROTOGCD_NEEDS_CUDA();
  expect_step(at::kDouble, {at::kCUDA, 0}, 1e-9);
  expect_step(at::kFloat, {at::kCUDA, 0}, 1e-5);
}

TEST_F(GcdGolden, ContrastsOfPlainFeatures) {
  SingleProcess alone;
  for (const bool supervised : {false, true}) {
    const at::Tensor features = tensor("feat").clone().requires_grad_(true);
    const at::Tensor loss =
        supervised ? supervised_contrastive_loss({features}, batch(at::kDouble, at::kCPU),
                                                 json_.at("tau_sup"), alone)
                   : unsupervised_contrastive_loss({features}, json_.at("tau_unsup"), alone);
    loss.backward();
    const char* name = supervised ? "sup" : "unsup";
    EXPECT_NEAR(loss.item<double>(), json_.at("feat").at(name).get<double>(), 1e-9);
    EXPECT_LT(deviation(features.grad(), tensor(std::string("feat.grad_") + name)), 1e-9);
  }
}

std::vector<std::int32_t> numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kInt).contiguous();
  return {flat.const_data_ptr<std::int32_t>(), flat.const_data_ptr<std::int32_t>() + flat.numel()};
}

class GcdClusters : public GcdGolden {
 protected:
  void expect_accuracy(const Clustering& found, const nlohmann::json& expected,
                       double tolerance = 1e-12) const {
    const at::Tensor& truth = tensor("sskm.u_labels_true");
    const at::Tensor own =
        found.labels.narrow(0, found.labels.size(0) - truth.size(0), truth.size(0));
    const Confusion confusion(numbers(own), numbers(truth));
    const Accuracy actual = clustering_accuracy(confusion, match_clusters(confusion), old_);
    EXPECT_NEAR(actual.all, expected.at(0).get<double>(), tolerance);
    EXPECT_NEAR(actual.old_classes, expected.at(1).get<double>(), tolerance);
    EXPECT_NEAR(actual.new_classes, expected.at(2).get<double>(), tolerance);
  }

  const nlohmann::json expected_ = json_.at("sskm");
  const std::int64_t k_ = expected_.at("K");
  const std::int32_t old_ = expected_.at("K_old");
  const Points points_{at::cat({tensor("sskm.l_feats"), tensor("sskm.u_feats")})};
  const at::Tensor known_ = at::cat(
      {tensor("sskm.l_targets"), at::full({tensor("sskm.u_feats").size(0)}, -1, at::kLong)});
};

TEST_F(GcdClusters, FirstCentroidsAreThoseThatTheReleaseDraws) {
  const at::Tensor given = tensor("sskm.init_centers").narrow(0, 0, old_) - points_.mean();
  const at::Tensor draws = tensor("sskm.draws").contiguous();
  const at::Tensor found =
      plain_kmeans_plus_plus(points_, {.k = k_, .given = given, .free = known_ < 0},
                             {draws.const_data_ptr<double>(), static_cast<std::size_t>(k_ - old_)});
  EXPECT_LT(deviation(found + points_.mean(), tensor("sskm.init_centers")), 1e-12);
}

// The release ends where centroids have nearly stopped, ours when no row moves any more: from the
// same first centroids it is a little tighter, and a row in a hundred may be elsewhere.
TEST_F(GcdClusters, FromThereTheyAreTheReleasesOrTighter) {
  const Clustering found =
      semi_supervised_lloyd(points_, known_, tensor("sskm.init_centers"), {.tolerance = 0});
  const double inertia = expected_.at("inertia");
  EXPECT_LE(found.inertia, inertia);
  EXPECT_NEAR(found.inertia, inertia, 1e-4 * inertia);
  EXPECT_LT(found.labels.ne(tensor("sskm.labels")).to(at::kDouble).mean().item<double>(), 0.01);
  expect_accuracy(found, expected_.at("acc_v2"), 0.01);
}

// One round of ours after another, with the release's rule of when to stop: a round gives the means
// of the rows nearest to its centroids, and the rows nearest to those.
TEST_F(GcdClusters, RoundByRoundWithItsOwnEndTheyAreTheReleases) {
  Clustering before, now{.labels = {}, .centroids = tensor("sskm.init_centers")};
  double shift = 1;
  for (int round = 0; shift * shift >= expected_.at("tolerance").get<double>(); ++round) {
    ASSERT_LT(round, expected_.at("max_iterations").get<int>());
    before = now;
    now = semi_supervised_lloyd(points_, known_, before.centroids, {.max_iterations = 1});
    shift = (now.centroids - before.centroids).norm(2, 1).sum().item<double>();
  }
  EXPECT_TRUE(at::equal(before.labels, tensor("sskm.labels")));
  EXPECT_NEAR(before.inertia, expected_.at("inertia").get<double>(), 1e-9 * before.inertia);
  EXPECT_LT(deviation(now.centroids, tensor("sskm.centers")), 1e-12);
  expect_accuracy(before, expected_.at("acc_v2"));
}

TEST_F(GcdClusters, AccuracyOfTheReleasesOwnIsWhatItTells) {
  expect_accuracy({.labels = tensor("sskm.labels"), .centroids = {}}, expected_.at("acc_v2"));
  expect_accuracy({.labels = tensor("sskm.best20_labels"), .centroids = {}},
                  expected_.at("best20_acc_v2"));
}

TEST_F(GcdClusters, TheBestOfAsManyStartsIsAsTight) {
  for (const bool plain : {false, true}) {
    const Clustering found = semi_supervised_kmeans(
        points_, known_, {.k = k_, .starts = plain ? 100 : 20, .plain_seeding = plain});
    EXPECT_LE(found.inertia, expected_.at("best20_inertia").get<double>() + 1e-9) << plain;
  }
}

}  // namespace
}  // namespace protogcd
