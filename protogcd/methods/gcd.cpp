// GCD (Vaze et al., CVPR 2022): features whose views and labels are contrasted behind a wide
// projection, then semi-supervised k-means of them. There is no classifier: classes are clusters.
#include <ATen/ATen.h>

#include "protogcd/methods/feature_clusters.h"
#include "protogcd/methods/head_options.h"
#include "protogcd/methods/losses.h"

namespace protogcd {
namespace {

struct GcdOptions : MethodOptions {
  double sup_weight = 0.35;                                ///< share of the supervised contrast
  double unsup_temperature = 1.0, sup_temperature = 0.07;  ///< of the two contrasts
  std::int64_t wide_projection = 65536;                    ///< weight-normed last layer; 0: none
  std::int64_t starts = 10;                                ///< of k-means
  bool plain_seeding = false;                              ///< as the release draws first centroids
  HeadOptions head;

  std::string name() const override { return "gcd"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<GcdOptions>(*this);
  }
  void declare(OptionTable& table) override;
  std::vector<PublishedSetting> published(const std::string&) const override {
    // The release clusters with so many starts once, after its 200 epochs.
    return {{"kmeans_starts", "100"},
            {"plain_seeding", "true"},
            {"eval_every", "200"},
            {"rule", "max-acc"},
            head.published()};
  }
  std::vector<std::string> resolve(const MethodFacts& facts) override {
    return head.resolve(facts);
  }
  bool decays_all() const override { return true; }
  bool sees_labelled() const override { return true; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

class Gcd : public Method {
 public:
  Gcd(const GcdOptions& options, const MethodInput& input)
      : options_(options),
        k_(input.k()),
        seed_(input.seed),
        old_classes_(input.old_classes),
        taken_(input.taken),
        projection_(options.head.make_projection(input, options.wide_projection)) {}

  std::map<std::string, at::Tensor> parameters() const override {
    return projection_.named_parameters();
  }
  std::vector<ReportedValue> reported() const override { return {{"unsup_con"}, {"sup_con"}}; }
  std::vector<double> begin_epoch(const EpochInput&) override { return {}; }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& batch = batches[0];
    // The wide layer's outputs are only ever compared: their cosines come of a [P, P] matrix.
    const Contrasted rows{projection_.narrow(batch.features),
                          options_.wide_projection > 0 ? projection_.gram() : at::Tensor()};
    const at::Tensor unsup =
        unsupervised_contrastive_loss(rows, options_.unsup_temperature, communicator);
    const at::Tensor sup =
        supervised_contrastive_loss(rows, batch, options_.sup_temperature, communicator);
    return {unsup * (1 - options_.sup_weight) + sup * options_.sup_weight, {unsup, sup}};
  }

  /// Clusters of what the blocks have become: an unlabelled image is in the one that k-means put it
  /// in, and a later image in the nearest.
  Outcome outcome(SetFeatures& sets) const override {
    Clustering found = cluster_images(sets, {.k = k_,
                                             .starts = options_.starts,
                                             .seed = seed_,
                                             .plain_seeding = options_.plain_seeding});
    if (taken_.has_every_class())
      found = numbered_as(std::move(found), taken_.prototypes, old_classes_);
    const std::int64_t unlabelled = sets.count(SampleSet::kUnlabelled);
    const at::Tensor own = found.labels.narrow(0, found.labels.size(0) - unlabelled, unlabelled)
                               .to(at::kCPU, at::kInt)
                               .contiguous();
    const auto* first = own.const_data_ptr<std::int32_t>();
    return {
        .prototypes = {.centres = found.centroids, .bias = found.centroids.square().sum(1) / -2},
        .labels = {first, first + unlabelled}};
  }

 private:
  const GcdOptions options_;
  const std::int64_t k_;
  const std::uint64_t seed_;
  const std::int64_t old_classes_;
  const TakenHead taken_;
  Projection projection_;
};

void GcdOptions::declare(OptionTable& table) {
  table.add("sup_weight", &sup_weight, "share of the supervised contrast").at_least(0).at_most(1);
  table.add("unsup_con_temperature", &unsup_temperature, "of the unsupervised contrast").above(0);
  table.add("sup_con_temperature", &sup_temperature, "of the supervised contrast").above(0);
  table
      .add("wide_projection", &wide_projection,
           "numbers of the projection's last layer, of which cosines alone are computed; 0: none")
      .at_least(0);
  table.add("kmeans_starts", &starts, "times that k-means begins anew; the tightest is kept")
      .at_least(1)
      .at_most(10'000);
  table.add(
      "plain_seeding", &plain_seeding,
      "k-means begins as in the release: one draw for each new cluster, not the best of some");
  head.declare(table);
}

std::unique_ptr<Method> GcdOptions::make(const MethodInput& input) const {
  return std::make_unique<Gcd>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> gcd_options();  // for registry.cpp
std::unique_ptr<MethodOptions> gcd_options() {
  return std::make_unique<GcdOptions>();
}

}  // namespace protogcd
