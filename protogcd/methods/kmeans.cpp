// Semi-supervised k-means (Vaze et al., CVPR 2022) on the features of the backbone as it is: a
// first look in seconds, and what every trained method has to beat.
#include <ATen/ATen.h>

#include "protogcd/core/error.h"
#include "protogcd/methods/feature_clusters.h"
#include "protogcd/methods/method_options.h"

namespace protogcd {
namespace {

struct KMeansMethodOptions : MethodOptions {
  std::int64_t starts = 10;

  std::string name() const override { return "kmeans"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<KMeansMethodOptions>(*this);
  }
  void declare(OptionTable& table) override {
    table.add("starts", &starts, "times that k-means begins anew; the tightest clusters are kept")
        .at_least(1)
        .at_most(10'000);
  }
  bool trains() const override { return false; }
  bool sees_labelled() const override { return true; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

class KMeansMethod : public Method {
 public:
  KMeansMethod(std::int64_t starts, const MethodInput& input)
      : starts_(starts),
        k_(input.k()),
        old_classes_(input.old_classes),
        seed_(input.seed),
        taken_(input.taken) {}

  std::map<std::string, at::Tensor> parameters() const override { return {}; }
  std::vector<ReportedValue> reported() const override { return {}; }
  std::vector<double> begin_epoch(const EpochInput&) override { return {}; }
  StepLoss loss(const std::vector<StepBatch>&, Communicator&) override {
    throw InternalError("k-means has no training step");
  }

  Outcome outcome(SetFeatures& sets) const override {
    Clustering found = cluster_images(sets, {.k = k_, .starts = starts_, .seed = seed_});
    if (taken_.keeps_classes(old_classes_))
      found = numbered_as(std::move(found), taken_.prototypes, old_classes_);
    const at::Tensor& centres = found.centroids;
    return {.prototypes = {.centres = centres, .bias = centres.square().sum(1) / -2}};
  }

 private:
  const std::int64_t starts_, k_, old_classes_;
  const std::uint64_t seed_;
  const TakenHead taken_;
};

std::unique_ptr<Method> KMeansMethodOptions::make(const MethodInput& input) const {
  return std::make_unique<KMeansMethod>(starts, input);
}

}  // namespace

std::unique_ptr<MethodOptions> kmeans_options();  // for registry.cpp
std::unique_ptr<MethodOptions> kmeans_options() {
  return std::make_unique<KMeansMethodOptions>();
}

}  // namespace protogcd
