// The objective where the released code is silent: batches without labels, few classes, a prior,
// the paper's variants, several processes.
#include "protogcd/methods/protogcd/objective.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/team.h"

namespace protogcd {
namespace {

constexpr std::int64_t kImages = 6, kWidth = 10;

struct Setting {
  explicit Setting(std::int64_t classes, std::uint64_t seed = 3)
      : head({.width = kWidth, .classes = classes, .hidden = 12, .projection = 8}, seed,
             at::kDouble, at::kCPU) {
    for (const auto& [name, tensor] : head.named_parameters()) {
      if (tensor.dim() == 2) tensor.mul_(name.starts_with("mlp") ? 20 : 1);
      tensor.requires_grad_(true);
    }
    at::manual_seed(5);
    features = at::randn({2 * kImages, kWidth}, at::kDouble).requires_grad_(true);
    batch.labels = at::arange(kImages, at::kLong).remainder(classes);
    batch.labelled = at::tensor({1., 0., 1., 1., 0., 1.}, at::kDouble);
  }

  LossTerms run(const ObjectiveOptions& options = {}, std::int64_t hard = 2,
                std::vector<double> prior = {}) {
    return run(Objective(options, head.shape().classes, std::move(prior), at::kDouble, at::kCPU),
               hard);
  }
  LossTerms run(const Objective& objective, std::int64_t hard = 2) {
    SingleProcess alone;
    return objective(head.forward(features), batch, {at::scalar_tensor(hard, at::kLong), decided},
                     alone);
  }

  Head head;
  at::Tensor features;
  StepBatch batch;
  at::Tensor decided;  ///< hard labels
};

bool finite_gradients(Setting& setting, const LossTerms& terms) {
  terms.total.backward();
  bool finite = setting.features.grad().isfinite().all().item<bool>();
  for (const auto& [name, tensor] : setting.head.named_parameters()) {
    if (tensor.grad().defined()) finite = finite && tensor.grad().isfinite().all().item<bool>();
  }
  return finite;
}

TEST(Objective, ABatchWithoutLabelsHasNoSupervisedTerms) {
  Setting setting(4);
  setting.batch.labelled = at::zeros({kImages}, at::kDouble);
  const LossTerms terms = setting.run();
  EXPECT_EQ(terms.sup.item<double>(), 0);
  EXPECT_EQ(terms.sup_con.item<double>(), 0);
  EXPECT_TRUE(std::isfinite(terms.total.item<double>()));
  EXPECT_TRUE(finite_gradients(setting, terms));
}

TEST(Objective, LabelsOfUnlabelledImagesDoNotMatter) {
  Setting setting(4);
  const double before = setting.run().total.item<double>();
  setting.batch.labels = at::where(setting.batch.labelled > 0, setting.batch.labels,
                                   at::full({kImages}, 3, at::kLong));
  EXPECT_EQ(setting.run().total.item<double>(), before);
}

TEST(Objective, OneClassIsDefined) {
  Setting setting(1);
  const LossTerms terms = setting.run();
  EXPECT_EQ(terms.separation.item<double>(), 0);
  EXPECT_NEAR(terms.entropy.item<double>(), 0, 1e-12);
  EXPECT_NEAR(terms.sup.item<double>(), 0, 1e-12);
  EXPECT_TRUE(finite_gradients(setting, terms));
}

TEST(Objective, AnImageAloneInItsClassHasItsOtherViewAsPositive) {
  Setting setting(kImages);  // every image has a class of its own
  const LossTerms terms = setting.run();
  EXPECT_GT(terms.sup_con.item<double>(), 0);
  EXPECT_TRUE(finite_gradients(setting, terms));
}

TEST(Objective, AUniformPriorIsTheEntropyTermAndAnotherPriorIsKlDivergence) {
  Setting setting(4);
  const LossTerms uniform = setting.run();
  EXPECT_NEAR(setting.run({}, 2, {.25, .25, .25, .25}).entropy.item<double>(),
              uniform.entropy.item<double>(), 1e-14);
  const std::vector<double> prior = {.4, .3, .2, .1};
  const LossTerms tilted = setting.run({}, 2, prior);
  double expected = 0;
  for (int k = 0; k < 4; ++k) {
    const double p = tilted.marginal[k].item<double>();
    expected += p * std::log(p / prior[static_cast<std::size_t>(k)]);
  }
  EXPECT_NEAR(tilted.entropy.item<double>(), expected, 1e-14);
}

TEST(Objective, TheMeanPredictionOfUnlabelledImagesLeavesLabelledOnesAlone) {
  Setting setting(4);
  const ObjectiveOptions options{.marginal_scope = MarginalScope::kUnlabelled};
  const LossTerms terms = setting.run(options);
  const at::Tensor p =
      at::softmax(setting.head.cosines(setting.features) / options.tau_base, 1).detach();
  const at::Tensor unlabelled = at::tensor({1, 4, 7, 10}, at::kLong);  // images 1 and 4, twice
  EXPECT_LT((p.index_select(0, unlabelled).mean(0) - terms.marginal).abs().max().item<double>(),
            1e-14);
  // Its gradient reaches the rows of unlabelled images alone.
  terms.entropy.backward();
  const at::Tensor slope = setting.features.grad().abs().sum(1);  // [2B]
  for (std::int64_t row = 0; row < 2 * kImages; ++row) {
    const bool is_unlabelled = row % kImages == 1 || row % kImages == 4;
    EXPECT_EQ(slope[row].item<double>() > 0, is_unlabelled) << row;
  }
}

TEST(Objective, AMeanOverSeveralStepsIsPulledFromWhereItStands) {
  Setting setting(4);
  const std::vector<double> prior = {.4, .3, .2, .1};
  // 12 rows a step, 4 classes: a window of 24 rows keeps one half.
  const Objective objective({.marginal_window = 6}, 4, prior, at::kDouble, at::kCPU);
  const at::Tensor log_prior = at::tensor(prior, at::kDouble).log();
  at::Tensor running = at::tensor(prior, at::kDouble);
  for (int step = 0; step < 3; ++step) {
    setting.features.mutable_grad() = at::Tensor();
    const LossTerms terms = setting.run(objective);
    running = (running + terms.marginal) / 2;
    EXPECT_LT((objective.running_marginal() - running).abs().max().item<double>(), 1e-14);
    terms.entropy.backward();
    const at::Tensor found = setting.features.grad().clone();
    // The slope of KL(m || prior) at the running mean m, by the mean prediction of this batch.
    setting.features.mutable_grad() = at::Tensor();
    const at::Tensor p = at::softmax(setting.head.cosines(setting.features) / 0.1, 1).mean(0);
    (p * (running.log() - log_prior)).sum().backward();
    EXPECT_LT((setting.features.grad() - found).abs().max().item<double>(), 1e-13) << step;
    setting.features = (setting.features.detach() * 1.5).requires_grad_(true);
  }
}

TEST(Objective, AWindowOfLessThanABatchIsTheBatch) {
  Setting setting(4);
  const LossTerms batch = setting.run(), window = setting.run({.marginal_window = 3});
  EXPECT_EQ(window.total.item<double>(), batch.total.item<double>());
}

TEST(Objective, AClassThatNobodyPredictsHasFiniteGradients) {
  Setting setting(40);  // more classes than rows
  const LossTerms terms = setting.run({.tau_base = 0.0001});
  EXPECT_EQ(terms.marginal.min().item<double>(), 0);
  EXPECT_TRUE(std::isfinite(terms.total.item<double>()));
  EXPECT_TRUE(finite_gradients(setting, terms));
}

TEST(Objective, HardLabelsGoToTheMostConfidentOfEachViewAndTiesToTheFirst) {
  SingleProcess alone;
  const at::Tensor confidence =
      at::tensor({5., 1., 5., 2., /*view 2*/ 1., 9., 3., 4.}, at::kDouble);
  const auto hard = [&](std::int64_t count) {
    return most_confident(confidence, at::scalar_tensor(count, at::kLong), alone);
  };
  EXPECT_TRUE(hard(0).equal(at::zeros({8}, at::kDouble)));
  EXPECT_TRUE(hard(1).equal(at::tensor({1., 0., 0., 0., 0., 1., 0., 0.}, at::kDouble)));
  EXPECT_TRUE(hard(3).equal(at::tensor({1., 0., 1., 1., 0., 1., 1., 1.}, at::kDouble)));
  EXPECT_TRUE(hard(4).equal(at::ones({8}, at::kDouble)));
}

TEST(Objective, HardLabelsDecidedBeforehandAreTakenAsTheyAre) {
  Setting setting(4);
  setting.decided = at::tensor({1., 0., 0., 1., 1., 0.}, at::kDouble);
  EXPECT_DOUBLE_EQ(setting.run().hard_share.item<double>(), 0.5);
  setting.decided = at::ones({kImages}, at::kDouble);
  const double all_hard = setting.run({}, 0).dapl.item<double>();
  setting.decided = at::Tensor();
  EXPECT_EQ(setting.run({}, kImages).dapl.item<double>(), all_hard);
}

TEST(Objective, ThePaperDoesNotScaleTheRegularisers) {
  Setting setting(4);
  const ObjectiveOptions paper = ObjectiveOptions::paper();
  const LossTerms terms = setting.run(paper);
  const auto value = [](const at::Tensor& term) { return term.item<double>(); };
  EXPECT_NEAR(value(terms.total),
              0.65 * (value(terms.dapl) + value(terms.unsup_con)) +
                  0.35 * (value(terms.sup) + value(terms.sup_con)) + 2 * value(terms.entropy) +
                  0.1 * value(terms.separation),
              1e-12);
}

TEST(Objective, AWeightOfZeroTakesATermOut) {
  Setting setting(4);
  const double whole = setting.run().total.item<double>();
  for (const auto& [options, term, factor] :
       {std::tuple{ObjectiveOptions{.weight_dapl = 0}, &LossTerms::dapl, 0.65},
        {ObjectiveOptions{.weight_sup = 0}, &LossTerms::sup, 0.35},
        {ObjectiveOptions{.weight_unsup_con = 0}, &LossTerms::unsup_con, 0.65},
        {ObjectiveOptions{.weight_sup_con = 0}, &LossTerms::sup_con, 0.35},
        {ObjectiveOptions{.lambda_entropy = 0}, &LossTerms::entropy, 1.3},
        {ObjectiveOptions{.lambda_sep = 0}, &LossTerms::separation, 0.065}}) {
    const LossTerms terms = setting.run(options);
    EXPECT_NEAR(terms.total.item<double>() + factor * (terms.*term).item<double>(), whole, 1e-12);
  }
}

class TwoProcesses : public ::testing::TestWithParam<ObjectiveOptions> {};

TEST_P(TwoProcesses, TogetherComputeWhatOneDoes) {
  Setting whole(4);
  const LossTerms expected = whole.run(GetParam());
  expected.total.backward();

  std::vector<double> totals(2);
  std::vector<at::Tensor> gradients(2), features(2);
  testing::Team(2).run([&](testing::Team::Member& member) {
    const std::int64_t rank = member.rank();
    Setting part(4);
    const at::Tensor rows = at::arange(kImages / 2, at::kLong) + rank * (kImages / 2);
    part.features = whole.features.detach()
                        .index_select(0, at::cat({rows, rows + kImages}))
                        .clone()
                        .requires_grad_(true);
    part.batch = {.labels = whole.batch.labels.index_select(0, rows),
                  .labelled = whole.batch.labelled.index_select(0, rows)};
    const Objective objective(GetParam(), 4, {}, at::kDouble, at::kCPU);
    const LossTerms terms = objective(part.head.forward(part.features), part.batch,
                                      {at::scalar_tensor(2, at::kLong)}, member);
    terms.total.backward();
    const auto index = static_cast<std::size_t>(rank);
    totals[index] = terms.total.item<double>();
    features[index] = part.features.grad();
    gradients[index] = part.head.named_parameters().at("prototype_layer.weight_v").grad();
  });

  EXPECT_NEAR(totals[0] + totals[1], expected.total.item<double>(), 1e-12);
  const at::Tensor prototypes = whole.head.named_parameters().at("prototype_layer.weight_v").grad();
  EXPECT_LT((gradients[0] + gradients[1] - prototypes).abs().max().item<double>(), 1e-12);
  const at::Tensor first = features[0].view({2, kImages / 2, kWidth}),
                   second = features[1].view({2, kImages / 2, kWidth});
  EXPECT_LT((at::cat({first, second}, 1).view({2 * kImages, kWidth}) - whole.features.grad())
                .abs()
                .max()
                .item<double>(),
            1e-12);
}

INSTANTIATE_TEST_SUITE_P(Objective, TwoProcesses,
                         ::testing::Values(ObjectiveOptions{},
                                           ObjectiveOptions{
                                               .marginal_scope = MarginalScope::kUnlabelled,
                                               .marginal_window = 10}));

}  // namespace
}  // namespace protogcd
