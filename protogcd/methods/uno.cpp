// UNO+ (Fini et al., ICCV 2021, as Vaze et al., CVPR 2022, take it to category discovery): labels
// and pseudo-labels train one classifier by one cross-entropy; pseudo-labels of a view are the
// other view's predictions, made to use all classes equally.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/losses.h"
#include "protogcd/methods/uno_head.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

struct UnoOptions : MethodOptions {
  double temperature = 0.1;
  SinkhornOptions sinkhorn = {};
  std::int64_t overclustering = 0;  ///< prototypes of the second head for each new class; 0: none
  UnoHeadShape head = {};

  std::string name() const override { return "uno"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<UnoOptions>(*this);
  }
  void declare(OptionTable& table) override;
  bool decays_all() const override { return true; }
  std::string tuned_option() const override { return "sinkhorn_epsilon"; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

constexpr std::uint64_t kUnoPrototypes = 16, kUnoOver = 17;  // numbers of random tensors

class Uno : public Method {
 public:
  Uno(const UnoOptions& options, const MethodInput& input)
      : options_(options),
        old_classes_(input.old_classes),
        prototypes_(unit_rows(fresh_rows(input.k(), input.width, input.seed, kUnoPrototypes))
                        .to(input.device, input.type)) {
    const std::int64_t fine = options.overclustering * (input.k() - input.old_classes);
    if (fine > 0)
      over_.emplace(input.width, fine, options.head, input.seed, kUnoOver, input.type,
                    input.device);
  }

  std::map<std::string, at::Tensor> parameters() const override {
    std::map<std::string, at::Tensor> all = {{"prototypes.weight", prototypes_}};
    if (over_) {
      for (const auto& [name, tensor] : over_->named_parameters()) all["over." + name] = tensor;
    }
    return all;
  }
  std::vector<std::string> of_classes() const override { return {"prototypes.weight"}; }
  std::vector<ReportedValue> reported() const override {
    if (!over_) return {{"cluster"}};
    return {{"cluster"}, {"overcluster"}};
  }
  std::vector<double> begin_epoch(const EpochInput&) override { return {}; }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& batch = batches[0];
    const at::Tensor cosines = at::matmul(unit_rows(batch.features), prototypes_.t());  // [2B, K]
    const at::Tensor cluster =
        uno_loss(cosines, batch, options_.temperature, options_.sinkhorn, communicator);
    if (!over_) return {cluster, {cluster}};
    // The same with finer classes in place of the new ones.
    const at::Tensor finer = at::cat(
        {cosines.narrow(1, 0, old_classes_), over_->forward(batch.features, communicator)}, 1);
    const at::Tensor overcluster =
        uno_loss(finer, batch, options_.temperature, options_.sinkhorn, communicator);
    return {(cluster + overcluster) / 2, {cluster, overcluster}};
  }

  void after_update() override {
    const at::NoGradGuard no_grad;
    prototypes_.copy_(unit_rows(prototypes_));
    if (over_) over_->normalise();
  }

  Outcome outcome(SetFeatures&) const override {
    return {.prototypes = {.centres = prototypes_.detach(), .temperature = options_.temperature}};
  }

 private:
  const UnoOptions options_;
  const std::int64_t old_classes_;
  at::Tensor prototypes_;  ///< [K, D], unit rows: normalised in place, no gradient passes there
  std::optional<UnoHead> over_;
};

void UnoOptions::declare(OptionTable& table) {
  table.add("temperature", &temperature, "of predictions").above(0);
  table
      .add("sinkhorn_epsilon", &sinkhorn.epsilon,
           "cosines are divided by it before they are made to use all classes equally")
      .above(0);
  table.add("sinkhorn_rounds", &sinkhorn.rounds, "times that columns and rows are scaled")
      .at_least(1);
  table
      .add("overclustering", &overclustering,
           "a second head with so many prototypes for each new class; 0: none")
      .at_least(0);
  table.add("over_hidden", &head.hidden, "width of that head's inner layer").at_least(1);
  table.add("over_projection", &head.projection, "numbers that its prototypes see").at_least(1);
}

std::unique_ptr<Method> UnoOptions::make(const MethodInput& input) const {
  return std::make_unique<Uno>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> uno_options();  // for registry.cpp
std::unique_ptr<MethodOptions> uno_options() {
  return std::make_unique<UnoOptions>();
}

}  // namespace protogcd
