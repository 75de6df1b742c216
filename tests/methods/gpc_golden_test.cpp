// GPC against the numbers of its public release: likelihoods, splits, merges, prototypes and the
// loss that is made of them.
#include "protogcd/methods/registry.h"
#include "protogcd/methods/split_merge.h"
#include "protogcd/nn/head.h"
#include "tests/methods/golden_tensors.h"

namespace protogcd {
namespace {

using testing::expect_number;
using testing::relative_deviation;

class GpcGolden : public ::testing::TestWithParam<int> {
 protected:
  const at::Tensor& tensor(const std::string& name) const {
    return golden_.at("case" + std::to_string(GetParam()) + "." + name);
  }
  at::Tensor halves() const {
    const at::Tensor& of_unlabelled = tensor("sub_assign_unlabelled");
    return at::cat({at::zeros({rows_.size(0) - of_unlabelled.size(0)}, at::kLong), of_unlabelled});
  }
  /// The release's step, with the numbers that it drew.
  SplitMergeStep step(bool keeps_merged) const {
    std::vector<double> drawn;
    for (const char* name : {"split", "merge"}) {
      const at::Tensor uniform = tensor(name).select(1, 6);
      for (std::int64_t i = 0; i < uniform.size(0); ++i)
        if (const double u = uniform[i].item<double>(); u >= 0) drawn.push_back(u);
    }
    std::size_t next = 0;
    return split_and_merge(rows_, tensor("labels"), tensor("centers"), halves(), old_, prior_,
                           {.keeps_merged = keeps_merged},
                           [&] { return next < drawn.size() ? drawn[next++] : 1.0; });
  }
  static void expect_tests(const std::vector<SplitMergeTest>& tests, const at::Tensor& expected) {
    ASSERT_EQ(std::ssize(tests), expected.size(0));
    for (std::int64_t i = 0; i < expected.size(0); ++i) {
      const SplitMergeTest& test = tests[static_cast<std::size_t>(i)];
      const auto numbers = expected.accessor<double, 2>()[i];
      EXPECT_EQ(test.first, numbers[0]);
      EXPECT_EQ(test.second, numbers[1]);
      EXPECT_NEAR(test.first_likelihood, numbers[2], 1e-9 * std::abs(numbers[2]));
      EXPECT_NEAR(test.second_likelihood, numbers[3], 1e-9 * std::abs(numbers[3]));
      EXPECT_NEAR(test.likelihood, numbers[4], 1e-9 * std::abs(numbers[4]));
      EXPECT_NEAR(test.gain, numbers[5], 1e-9 * std::abs(numbers[5]));
      EXPECT_EQ(test.drawn, numbers[6]);
      EXPECT_EQ(test.is_accepted, numbers[7] == 1);
    }
  }

  const testing::GoldenTensors golden_{"gpc"};
  const std::int64_t old_ = 3;
  const at::Tensor rows_ = at::cat({tensor("l_feats"), tensor("u_feats")});
  const NiwPrior prior_{.mean = rows_.mean(0), .nu = golden_.json.at("prior").at("nu")};
};

TEST_P(GpcGolden, SplitsMergesAndNewCentresAreTheReleases) {
  const SplitMergeStep found = step(/*keeps_merged=*/true);
  expect_tests(found.splits, tensor("split"));
  expect_tests(found.merges, tensor("merge"));
  for (std::size_t i = 0; i < found.pairs.size(); ++i) {
    const at::Tensor expected = tensor("merge_pairs")[static_cast<std::int64_t>(i)];
    EXPECT_EQ(found.pairs[i].first, expected[0].item<std::int64_t>());
    EXPECT_EQ(found.pairs[i].second, expected[1].item<std::int64_t>());
  }
  EXPECT_LT(relative_deviation(unit_rows(found.centres), tensor("new_prototypes")), 1e-9);
  at::Tensor assignment = nearest_centres(rows_, found.centres);
  assignment.slice(0, 0, tensor("l_targets").size(0)).copy_(tensor("l_targets"));
  EXPECT_TRUE(at::equal(assignment, tensor("assignment")));
  EXPECT_LT(relative_deviation(cluster_spread(rows_, found.centres, assignment), tensor("density")),
            1e-9);
}

TEST_P(GpcGolden, AMergeLeavesOneClusterOfTwoUnlessAsReleased) {
  const SplitMergeStep found = step(/*keeps_merged=*/false);
  std::int64_t splits = 0, merges = 0;
  for (const SplitMergeTest& test : found.splits) splits += test.is_accepted ? 1 : 0;
  for (const SplitMergeTest& test : found.merges) merges += test.is_accepted ? 1 : 0;
  EXPECT_EQ(found.centres.size(0), tensor("centers").size(0) + splits - merges);
  EXPECT_EQ(merges, GetParam() == 0 ? 0 : 1) << "a mutual pair once";
}

INSTANTIATE_TEST_SUITE_P(Cases, GpcGolden, ::testing::Values(0, 1));

/// The method's step, on the prototypes that the release found.
TEST(GpcStep, PullToPrototypesAndItsGradientsAreTheReleases) {
  const testing::GoldenTensors golden("gpc");
  MethodChoice choice = find_method("gpc");
  OptionTable table;
  choice->declare(table);
  for (const auto& [key, value] : {std::pair{"head_hidden", "8"}, {"projection", "4"}})
    ASSERT_FALSE(table.find(key)->assign(std::vector<std::string>{value}, OptionSource::kFlag));
  const at::Tensor &assignment = golden.at("case0.assignment"),
                   &prototypes = golden.at("case0.new_prototypes");
  const auto method = choice->make({.width = 6,
                                    .classes = std::vector<std::string>(7),
                                    .old_classes = 3,
                                    .labelled = 63,
                                    .unlabelled = 267,
                                    .epochs = 60,
                                    .type = at::kDouble});
  const auto state = method->state();
  const std::int64_t used = prototypes.size(0);
  state.at("prototypes").narrow(0, 0, used).copy_(prototypes);
  state.at("spread").narrow(0, 0, used).copy_(golden.at("case0.density"));
  state.at("offset").narrow(0, 0, used).zero_();
  state.at("cluster").copy_(assignment);
  const at::Tensor q = golden.leaf("proto.q"), k = golden.leaf("proto.k");
  const at::Tensor& places = golden.at("proto.index");
  SingleProcess alone;
  const StepLoss loss = method->loss({{.labels = at::zeros_like(places),
                                       .labelled = at::zeros(places.sizes(), at::kDouble),
                                       .places = places,
                                       .features = at::cat({q, k})}},
                                     alone);
  expect_number(loss.reported[2], golden.json.at("proto_loss"), "proto_loss");
  loss.reported[2].backward();
  EXPECT_LT(relative_deviation(q.grad(), golden.at("proto.grad.q")), 1e-9);
  EXPECT_LT(relative_deviation(k.grad(), golden.at("proto.grad.k")), 1e-9);
}

TEST(ClusterSpread, IsNeverZeroHoweverManyCentresHaveNoRow) {
  at::manual_seed(3);
  const at::Tensor rows = at::randn({20, 4}, at::kDouble),
                   centres = at::randn({10, 4}, at::kDouble);
  for (const at::Tensor& assignment :
       {at::arange(20, at::kLong).remainder(3), at::zeros({20}, at::kLong)}) {
    const at::Tensor spread = cluster_spread(rows, centres, assignment);
    EXPECT_GT(spread.min().item<double>(), 0);
    EXPECT_NEAR(spread.mean().item<double>(), 1, 1e-12);
  }
  const at::Tensor same = at::zeros({20, 4}, at::kDouble);
  EXPECT_TRUE(
      at::equal(cluster_spread(same, at::zeros({2, 4}, at::kDouble), at::zeros({20}, at::kLong)),
                at::ones({2}, at::kDouble)));
}

/// Few rows of many dimensions are judged by the product of rows, many by that of columns.
TEST(NiwPrior, TheLikelihoodIsTheDefinitionsForFewAndManyRows) {
  at::manual_seed(4);
  const at::Tensor mean = at::randn({12}, at::kDouble) * 0.1;
  const NiwPrior prior{.mean = mean, .nu = 14};
  for (const std::int64_t count : {5, 40}) {
    const at::Tensor rows = at::randn({count, 12}, at::kDouble) * 0.3, centre = rows.mean(0);
    const auto n = static_cast<double>(count);
    const at::Tensor shift = centre - mean;
    const at::Tensor psi = at::eye(12, at::kDouble) * prior.scale +
                           at::matmul((rows - centre).t(), rows - centre) +
                           at::outer(shift, shift) * (prior.kappa * n / (prior.kappa + n));
    const auto lgamma = [](double x) {
      return at::mvlgamma(at::full({}, x, at::kDouble), 12).item<double>();
    };
    const double expected = -n * 12 / 2 * std::log(M_PI) + lgamma((14 + n) / 2) - lgamma(14 / 2.0) +
                            14 / 2.0 * 12 * std::log(prior.scale) -
                            (14 + n) / 2 * at::logdet(psi).item<double>() +
                            6 * (std::log(prior.kappa) - std::log(prior.kappa + n));
    EXPECT_NEAR(prior.log_likelihood(rows, centre), expected, 1e-9 * std::abs(expected)) << count;
  }
}

}  // namespace
}  // namespace protogcd
