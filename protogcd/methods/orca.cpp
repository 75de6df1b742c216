// ORCA (Cao et al., ICLR 2022): images are pulled to the class of a partner, labelled ones to one
// of their label, others to their nearest; a margin that falls with the uncertainty of unlabelled
// images keeps the old classes from being learned faster than the new.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/pairing.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

struct OrcaOptions : MethodOptions {
  double scale = 10;         ///< of cosines
  double most_margin = 0.5;  ///< of the uncertainty that becomes the margin
  double pair_weight = 1, entropy_weight = 1;

  std::string name() const override { return "orca"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<OrcaOptions>(*this);
  }
  void declare(OptionTable& table) override;
  bool decays_all() const override { return true; }
  std::string tuned_option() const override { return "entropy_weight"; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

constexpr std::uint64_t kOrcaPrototypes = 16;  // the number of a random tensor

class Orca : public Method {
 public:
  Orca(const OrcaOptions& options, const MethodInput& input)
      : options_(options),
        prototypes_(unit_rows(fresh_rows(input.k(), input.width, input.seed, kOrcaPrototypes))
                        .to(input.device, input.type)),
        margin_(input.type, input.device),
        step_(at::zeros({}, at::device(input.device).dtype(at::kLong))) {}

  std::map<std::string, at::Tensor> parameters() const override {
    return {{"head.weight", prototypes_}};
  }
  std::vector<std::string> of_classes() const override { return {"head.weight"}; }
  std::map<std::string, at::Tensor> state() const override {
    return {{"margin", *margin_}, {"step", step_}};
  }
  std::vector<ReportedValue> reported() const override {
    return {
        {"cls"}, {"pairs"}, {"entropy", ReportedKind::kShare}, {"margin", ReportedKind::kSchedule}};
  }

  std::vector<double> begin_epoch(const EpochInput& input) override {
    if (!input.is_resumed) margin_.set(std::min(uncertainty(input.sets), options_.most_margin));
    return {(*margin_).item<double>()};
  }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& batch = batches[0];
    const at::Tensor rows = unit_rows(batch.features);  // [2B, D]
    const at::Tensor partners =
        at::where(batch.labelled > 0, labelled_partners(batch, step_, communicator),
                  nearest_partners(rows.detach().narrow(0, 0, batch.labels.size(0)), communicator));
    const OrcaLoss terms =
        orca_loss(logits_of(rows), partners, batch, *margin_ * options_.scale, communicator);
    return {
        terms.cls + terms.pairs * options_.pair_weight - terms.entropy * options_.entropy_weight,
        {terms.cls, terms.pairs, terms.entropy * communicator.size()}};
  }

  void after_update() override { step_ += 1; }

  Outcome outcome(SetFeatures&) const override {
    return {.prototypes = {.centres = prototypes_.detach(), .temperature = 1 / options_.scale}};
  }

 private:
  /// rows of unit length, [B, D] -> [B, K]
  at::Tensor logits_of(const at::Tensor& rows) const {
    return at::matmul(rows, unit_rows(prototypes_).t()) * options_.scale;
  }

  /// 1 - mean of the highest probability of unlabelled images.
  double uncertainty(SetFeatures& sets) const {
    const at::NoGradGuard no_grad;
    at::Tensor sum = at::zeros({}, at::kDouble);
    sets.for_each(SampleSet::kUnlabelled, [&](const at::Tensor& features) {
      const at::Tensor logits = logits_of(unit_rows(features.to(prototypes_.scalar_type())));
      sum += at::amax(at::softmax(logits, 1), 1).sum().to(at::kCPU, at::kDouble);
    });
    const std::int64_t count = sets.count(SampleSet::kUnlabelled);
    return count == 0 ? 0 : 1 - sum.item<double>() / static_cast<double>(count);
  }

  const OrcaOptions options_;
  at::Tensor prototypes_;  ///< [K, D]
  EpochScalar margin_;     ///< in cosines
  at::Tensor step_;        ///< int64 []
};

void OrcaOptions::declare(OptionTable& table) {
  table.add("logit_scale", &scale, "cosines are multiplied by it").above(0);
  table
      .add("most_margin", &most_margin,
           "the margin of labelled images is the uncertainty of unlabelled ones, up to this")
      .at_least(0);
  table.add("pair_weight", &pair_weight, "weight of the pairs").at_least(0);
  table.add("entropy_weight", &entropy_weight, "weight of the mean prediction's entropy")
      .at_least(0);
}

std::unique_ptr<Method> OrcaOptions::make(const MethodInput& input) const {
  return std::make_unique<Orca>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> orca_options();  // for registry.cpp
std::unique_ptr<MethodOptions> orca_options() {
  return std::make_unique<OrcaOptions>();
}

}  // namespace protogcd
