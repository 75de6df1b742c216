// GCD (Vaze et al., CVPR 2022): features whose views and labels are contrasted behind a wide
// projection, then semi-supervised k-means of them. There is no classifier: classes are clusters.
#include "protogcd/methods/contrast.h"

namespace protogcd {
namespace {

struct GcdOptions : ContrastMethodOptions {
  std::string name() const override { return "gcd"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<GcdOptions>(*this);
  }
  std::vector<PublishedSetting> published(const std::string&) const override {
    return with_gcds({{"eval_every", "200"}, {"rule", "max-acc"}});  // the release clusters once
  }
  std::string tuned_option() const override { return "sup_weight"; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

class Gcd : public Method {
 public:
  Gcd(const GcdOptions& options, const MethodInput& input)
      : options_(options),
        end_(options.clusters, input),
        projection_(options.contrast.make(input)) {}

  std::map<std::string, at::Tensor> parameters() const override {
    return projection_.named_parameters();
  }
  std::vector<ReportedValue> reported() const override { return {{"unsup_con"}, {"sup_con"}}; }
  std::vector<double> begin_epoch(const EpochInput&) override { return {}; }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const ContrastLoss loss =
        contrast_loss(projection_, options_.contrast, batches[0], communicator);
    return {loss.total, {loss.unsup, loss.sup}};
  }

  Outcome outcome(SetFeatures& sets) const override { return end_.outcome(sets); }

 private:
  const GcdOptions options_;
  const ClusterEnd end_;
  Projection projection_;
};

std::unique_ptr<Method> GcdOptions::make(const MethodInput& input) const {
  return std::make_unique<Gcd>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> gcd_options();  // for registry.cpp
std::unique_ptr<MethodOptions> gcd_options() {
  return std::make_unique<GcdOptions>();
}

}  // namespace protogcd
