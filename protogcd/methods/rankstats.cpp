// RankStats+ (AutoNovel, Han et al., ICLR 2020, as Vaze et al., CVPR 2022, take it to category
// discovery): one linear head; unlabelled images whose largest features stand at the same places
// are pulled to one class, all others apart.
#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/rank_statistics.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

struct RankStatsOptions : MethodOptions {
  std::int64_t top = 5;            ///< places that make a code
  double consistency_weight = 50;  ///< of the views' difference, at its highest
  /// Epochs until it is highest; nothing: three quarters of all.
  std::optional<std::int64_t> consistency_epochs = {};

  /// Features are brought to it before the layer: the steps of the usual learning rate are too long
  /// for longer ones.
  double feature_length = 5;

  std::string name() const override { return "rankstats"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<RankStatsOptions>(*this);
  }
  void declare(OptionTable& table) override;
  std::vector<std::string> resolve(const MethodFacts& facts) override {
    if (consistency_epochs) return {};
    consistency_epochs = facts.epochs * 3 / 4;  // 150 of the release's 200
    return {fmt::format("consistency_epochs {}: three quarters of the {} epochs",
                        *consistency_epochs, facts.epochs)};
  }
  void change_epochs(std::int64_t before, std::int64_t now) override {
    if (consistency_epochs && before > 0) *consistency_epochs = *consistency_epochs * now / before;
  }
  std::string tuned_option() const override { return "consistency_weight"; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

constexpr std::uint64_t kRankStatsWeight = 16;  // the number of a random tensor

class RankStats : public Method {
 public:
  RankStats(const RankStatsOptions& options, const MethodInput& input)
      : options_(options),
        ramp_(options.consistency_epochs.value_or(input.epochs * 3 / 4)),
        old_classes_(input.old_classes),
        scale_(options.feature_length),
        weight_(fresh_rows(input.k(), input.width, input.seed, kRankStatsWeight)
                    .to(input.device, input.type)),
        bias_(at::zeros({input.k()}, weight_.options())),
        consistency_(input.type, input.device) {}

  std::map<std::string, at::Tensor> parameters() const override {
    return {{"head.weight", weight_}, {"head.bias", bias_}};
  }
  std::vector<std::string> of_classes() const override { return {"head.weight", "head.bias"}; }
  std::vector<ReportedValue> reported() const override {
    return {{"cls"}, {"pairs"}, {"consistency"}, {"consistency_weight", ReportedKind::kSchedule}};
  }

  std::vector<double> begin_epoch(const EpochInput& input) override {
    const double weight = options_.consistency_weight * sigmoid_ramp(input.epoch, ramp_);
    consistency_.set(weight);
    return {weight};
  }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& batch = batches[0];
    // Rows of one length, as those of a normalised layer: what a model predicts by.
    const at::Tensor rows = unit_rows(batch.features) * scale_;  // [2B, D]
    const RankStatisticsLoss terms =
        rank_statistics_loss(at::linear(rows, weight_, bias_),
                             rank_codes(rows.narrow(0, 0, batch.labels.size(0)), options_.top),
                             batch, old_classes_, communicator);
    return {terms.cls + terms.pairs + terms.consistency * *consistency_,
            {terms.cls, terms.pairs, terms.consistency}};
  }

  Outcome outcome(SetFeatures&) const override {
    return {.prototypes = {.centres = (weight_ * scale_).detach(),
                           .temperature = 1,
                           .bias = bias_.detach().clone()}};
  }

 private:
  const RankStatsOptions options_;
  const std::int64_t ramp_, old_classes_;
  const double scale_;  ///< length of the rows that the head sees
  at::Tensor weight_;   ///< [K, D]
  at::Tensor bias_;     ///< [K]
  EpochScalar consistency_;
};

void RankStatsOptions::declare(OptionTable& table) {
  table.add("rank_top", &top, "largest features whose places make an image's code").at_least(1);
  table
      .add("consistency_weight", &consistency_weight,
           "weight of the difference between the predictions of two views, at its highest")
      .at_least(0);
  table.add("feature_length", &feature_length, "length of the features that the layer sees")
      .above(0);
  table
      .add("consistency_epochs", &consistency_epochs,
           "epochs until that weight is highest; three quarters of all if not given")
      .at_least(0);
}

std::unique_ptr<Method> RankStatsOptions::make(const MethodInput& input) const {
  return std::make_unique<RankStats>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> rankstats_options();  // for registry.cpp
std::unique_ptr<MethodOptions> rankstats_options() {
  return std::make_unique<RankStatsOptions>();
}

}  // namespace protogcd
