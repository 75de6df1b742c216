// ORCA against the numbers of its public release: partners, terms and gradients of a step.
#include "protogcd/methods/pairing.h"
#include "protogcd/methods/registry.h"
#include "protogcd/nn/head.h"
#include "tests/methods/golden_tensors.h"

namespace protogcd {
namespace {

using testing::expect_number;
using testing::relative_deviation;

constexpr double kScale = 10;

class OrcaGolden : public ::testing::Test {
 protected:
  StepBatch batch() const {
    return {
        .labels = at::cat({golden_.at("targets_labelled"), at::zeros({unlabelled_}, at::kLong)}),
        .labelled =
            at::cat({at::ones({labelled_}, at::kDouble), at::zeros({unlabelled_}, at::kDouble)})};
  }
  at::Tensor logits(const at::Tensor& view, const at::Tensor& weight) const {
    return at::matmul(unit_rows(view), unit_rows(weight.t()).t()) * kScale;
  }

  const testing::GoldenTensors golden_{"orca"};
  const std::int64_t labelled_ = golden_.json.at("B_labelled"),
                     unlabelled_ = golden_.json.at("B_unlabelled");
  SingleProcess alone_;
};

TEST_F(OrcaGolden, UnlabelledPartnersAreTheReleases) {
  const at::Tensor found = nearest_partners(unit_rows(golden_.at("view1")), alone_);
  EXPECT_TRUE(
      at::equal(found.slice(0, labelled_), golden_.at("case0.partner").slice(0, labelled_)));
}

TEST_F(OrcaGolden, LabelledPartnersAreOthersOfTheirClassAndChangeWithTheStep) {
  const StepBatch step = batch();
  at::Tensor before;
  int changed = 0;
  for (std::int64_t i = 0; i < 20; ++i) {
    const at::Tensor found =
        labelled_partners(step, at::full({}, i, at::kLong), alone_).slice(0, 0, labelled_);
    const at::Tensor numbers = at::arange(labelled_, at::kLong);
    const at::Tensor& targets = golden_.at("targets_labelled");
    EXPECT_TRUE(at::equal(targets.index_select(0, found), targets));
    const at::Tensor has_others = (targets.unsqueeze(1) == targets).sum(1) > 1;
    EXPECT_TRUE(at::equal(found != numbers, has_others));
    if (i > 0 && !at::equal(found, before)) ++changed;
    before = found;
  }
  EXPECT_GT(changed, 10);
}

TEST_F(OrcaGolden, TermsAndGradientsAtFourMargins) {
  for (const auto& [name, expected] : golden_.json.at("cases").items()) {
    SCOPED_TRACE(name);
    const std::string prefix = "case" + name + ".";
    const at::Tensor view1 = golden_.leaf("view1"), view2 = golden_.leaf("view2"),
                     weight = golden_.leaf("head.weight");
    const OrcaLoss terms = orca_loss(
        at::cat({logits(view1, weight), logits(view2, weight)}), golden_.at(prefix + "partner"),
        batch(), at::full({}, kScale * expected.at("margin").get<double>(), at::kDouble), alone_);
    expect_number(terms.cls, expected.at("ce"), "ce");
    expect_number(terms.pairs, expected.at("bce"), "bce");
    expect_number(terms.entropy, expected.at("entropy"), "entropy");
    const at::Tensor total = terms.cls + terms.pairs - terms.entropy;
    expect_number(total, expected.at("total"), "total");
    total.backward();
    EXPECT_LT(relative_deviation(view1.grad(), golden_.at(prefix + "grad.view1")), 1e-9);
    EXPECT_LT(relative_deviation(view2.grad(), golden_.at(prefix + "grad.view2")), 1e-9);
    EXPECT_LT(relative_deviation(weight.grad(), golden_.at(prefix + "grad.head.weight")), 1e-9);
  }
}

/// The method's own epoch: unlabelled images are so uncertain, and the margin is that.
TEST_F(OrcaGolden, TheMarginIsTheUncertaintyOfTheUnlabelledImages) {
  class OneSet : public SetFeatures {
   public:
    explicit OneSet(at::Tensor features) : features_(std::move(features)) {}
    std::int64_t count(SampleSet set) const override {
      return set == SampleSet::kUnlabelled ? features_.size(0) : 0;
    }
    void for_each(SampleSet, const std::function<void(const at::Tensor&)>& use) override {
      use(features_.narrow(0, 0, 7));
      use(features_.slice(0, 7));
    }
    at::Tensor labels() const override { return at::empty({0}, at::kLong); }

   private:
    at::Tensor features_;
  } sets(golden_.at("uncertainty.features"));
  const auto method = find_method("orca")->make(
      {.width = golden_.json.at("D"),
       .classes = std::vector<std::string>(golden_.json.at("K").get<std::size_t>()),
       .old_classes = golden_.json.at("K_old"),
       .epochs = 200,
       .type = at::kDouble});
  method->parameters().at("head.weight").copy_(golden_.at("head.weight").t());
  const auto numbers = method->begin_epoch({.epoch = 0, .images_per_step = 24, .sets = sets});
  EXPECT_NEAR(numbers.at(0), golden_.json.at("uncertainty").get<double>(), 1e-12);
}

}  // namespace
}  // namespace protogcd
