// Skeleton (Authors, venue and year): what is learned from what, in two lines. Here: prototypes
// that labelled images are drawn to, and by which the two views of any image agree.
#include <ATen/ATen.h>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/losses.h"

namespace protogcd {
namespace {

struct SkeletonOptions : MethodOptions {
  double temperature = 0.1;
  double agreement_weight = 1;      ///< of the views' agreement, after it has risen
  std::int64_t rising_epochs = 10;  ///< so many epochs

  std::string name() const override { return "skeleton"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<SkeletonOptions>(*this);
  }
  void declare(OptionTable& table) override;
  void change_epochs(std::int64_t before, std::int64_t now) override {
    if (before > 0) rising_epochs = std::max<std::int64_t>(1, rising_epochs * now / before);
  }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

constexpr std::uint64_t kSkeletonPrototypes = 16;  // the number of a random tensor

class Skeleton : public Method {
 public:
  Skeleton(const SkeletonOptions& options, const MethodInput& input)
      : options_(options),
        prototypes_(fresh_rows(input.k(), input.width, input.seed, kSkeletonPrototypes)
                        .to(input.device, input.type)),
        weight_(input.type, input.device) {}

  std::map<std::string, at::Tensor> parameters() const override {
    return {{"prototypes", prototypes_}};
  }
  std::vector<std::string> of_classes() const override { return {"prototypes"}; }
  std::vector<ReportedValue> reported() const override {
    return {{"cls"}, {"agreement"}, {"agreement_weight", ReportedKind::kSchedule}};
  }

  std::vector<double> begin_epoch(const EpochInput& input) override {
    const double risen =
        static_cast<double>(input.epoch + 1) / static_cast<double>(options_.rising_epochs);
    const double weight = options_.agreement_weight * std::min(risen, 1.0);
    weight_.set(weight);
    return {weight};
  }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& batch = batches[0];
    const at::Tensor cosines =
        at::matmul(unit_rows(batch.features), unit_rows(prototypes_).t());  // [2B, K]
    const at::Tensor log_p = at::log_softmax(cosines / options_.temperature, 1);
    const at::Tensor cls = supervised_loss(log_p, batch, communicator);
    const at::Tensor agreement = cross_view_loss(log_p, log_p.detach().exp(), communicator);
    return {cls + agreement * *weight_, {cls, agreement}};
  }

  Outcome outcome(SetFeatures&) const override {
    return {.prototypes = {.centres = prototypes_.detach(), .temperature = options_.temperature}};
  }

 private:
  const SkeletonOptions options_;
  at::Tensor prototypes_;  ///< [K, D]
  EpochScalar weight_;
};

void SkeletonOptions::declare(OptionTable& table) {
  table.add("temperature", &temperature, "of predictions").above(0);
  table.add("agreement_weight", &agreement_weight, "weight of the agreement of two views")
      .at_least(0);
  table.add("agreement_epochs", &rising_epochs, "epochs in which that weight rises").at_least(1);
}

std::unique_ptr<Method> SkeletonOptions::make(const MethodInput& input) const {
  return std::make_unique<Skeleton>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> skeleton_options();  // for registry.cpp
std::unique_ptr<MethodOptions> skeleton_options() {
  return std::make_unique<SkeletonOptions>();
}

}  // namespace protogcd
