// RankStats+ against the numbers of AutoNovel's public release (two heads, and its incremental
// variant), and against a re-implementation of the adaptation with one head, which has no release.
#include "protogcd/methods/rank_statistics.h"

#include "tests/methods/golden_tensors.h"

namespace protogcd {
namespace {

using testing::expect_number;
using testing::relative_deviation;

constexpr std::int64_t kTop = 5;

class RankStatsGolden : public ::testing::Test {
 protected:
  /// As AutoNovel has them: unlabelled are the new classes.
  at::Tensor labelled() const { return (golden_.at("labels") < old_).to(at::kDouble); }

  const testing::GoldenTensors golden_{"rankstats"};
  const std::int64_t old_ = golden_.json.at("K_old");
  SingleProcess alone_;
};

TEST_F(RankStatsGolden, PairsAreThoseWithTheSameLargestFeatures) {
  const at::Tensor codes = rank_codes(golden_.at("view1"), kTop);
  for (const char* part : {"", "plus."}) {
    const at::Tensor unlabelled =
        *part == 0 ? labelled() == 0 : golden_.at("plus.mask_labelled") == 0;
    const at::Tensor own = codes.index({unlabelled});
    EXPECT_TRUE(at::equal(at::matmul(own, own.t()) == kTop,
                          golden_.at(part + std::string("pair_target")).to(at::kBool)));
  }
}

TEST_F(RankStatsGolden, TermsAndGradientsOfTheReleasesTwoHeads) {
  for (const std::string name : {"plain", "il"}) {
    SCOPED_TRACE(name);
    const auto& expected = golden_.json.at("cases").at(name);
    const at::Tensor view1 = golden_.leaf("view1"), view2 = golden_.leaf("view2");
    const auto logits = [&](int head, const at::Tensor& view) {
      const std::string prefix = name + ".model.head" + std::to_string(head);
      return at::linear(view, golden_.at(prefix + ".weight"), golden_.at(prefix + ".bias"));
    };
    const auto p = [&](int head, const at::Tensor& view) {
      return at::softmax(logits(head, view), 1);
    };
    const at::Tensor pairs =
        pair_loss(p(2, view1), p(2, view2), rank_codes(view1, kTop), 1 - labelled(), alone_);
    const at::Tensor consistency = consistency_loss(p(1, view1), p(1, view2), alone_) +
                                   consistency_loss(p(2, view1), p(2, view2), alone_);
    const at::Tensor is_labelled = labelled() == 1, is_not = labelled() == 0;
    const at::Tensor cls = at::cross_entropy_loss(logits(1, view1).index({is_labelled}),
                                                  golden_.at("labels").index({is_labelled}));
    expect_number(pairs, expected.at("bce"), "bce");
    expect_number(consistency, expected.at("consistency"), "consistency");
    expect_number(cls, expected.at("ce"), "ce");
    const at::Tensor pseudo =
        name == "plain" ? at::zeros({}, at::kDouble)
                        : at::cross_entropy_loss(logits(1, view1).index({is_not}),
                                                 logits(2, view1).argmax(1).index({is_not}) + old_);
    const double highest = expected.at("rampup_coefficient");
    at::Tensor last;
    for (const auto& [epoch, numbers] : expected.at("epochs").items()) {
      const double ramp = sigmoid_ramp(std::stoi(epoch), expected.at("rampup_length"));
      EXPECT_NEAR(highest * ramp, numbers.at("w").get<double>(), 1e-12);
      const at::Tensor total =
          cls + pairs + consistency * (highest * ramp) + pseudo * (0.05 * ramp);
      expect_number(total, numbers.at("total"), "total at " + epoch);
      if (epoch == (name == "plain" ? "149" : "300")) last = total;
    }
    last.backward();
    const std::string prefix = name + (name == "plain" ? ".epoch149.grad." : ".epoch300.grad.");
    EXPECT_LT(relative_deviation(view1.grad(), golden_.at(prefix + "view1")), 1e-9);
    EXPECT_LT(relative_deviation(view2.grad(), golden_.at(prefix + "view2")), 1e-9);
  }
}

TEST_F(RankStatsGolden, StepOfTheAdaptationWithOneHead) {
  const auto& expected = golden_.json.at("plus");
  const at::Tensor view1 = golden_.leaf("view1"), view2 = golden_.leaf("view2"),
                   weight = golden_.leaf("plus.weight"), bias = golden_.leaf("plus.bias");
  const StepBatch batch{.labels = golden_.at("labels"),
                        .labelled = golden_.at("plus.mask_labelled").to(at::kDouble)};
  const RankStatisticsLoss terms =
      rank_statistics_loss(at::linear(at::cat({view1, view2}), weight, bias),
                           rank_codes(view1, kTop), batch, old_, alone_);
  expect_number(terms.cls, expected.at("ce"), "ce");
  expect_number(terms.pairs, expected.at("bce"), "bce");
  expect_number(terms.consistency, expected.at("consistency"), "consistency");
  const at::Tensor total =
      terms.cls + terms.pairs + terms.consistency * (50 * sigmoid_ramp(100, 150));
  expect_number(total, expected.at("total"), "total");
  total.backward();
  EXPECT_LT(relative_deviation(view1.grad(), golden_.at("plus.grad.view1")), 1e-9);
  EXPECT_LT(relative_deviation(view2.grad(), golden_.at("plus.grad.view2")), 1e-9);
  EXPECT_LT(relative_deviation(weight.grad(), golden_.at("plus.grad.weight")), 1e-9);
  EXPECT_LT(relative_deviation(bias.grad(), golden_.at("plus.grad.bias")), 1e-9);
}

}  // namespace
}  // namespace protogcd
