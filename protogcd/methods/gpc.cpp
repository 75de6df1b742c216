// GPC (Zhao et al., ICCV 2023): GCD's contrast, and prototypes that every image is drawn to: before
// each epoch clusters of all images, of which new ones are split and merged where their likelihood
// gains.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/core/random.h"
#include "protogcd/methods/contrast.h"
#include "protogcd/methods/feature_clusters.h"
#include "protogcd/methods/split_merge.h"

namespace protogcd {
namespace {

struct GpcOptions : ContrastMethodOptions {
  GpcOptions() { contrast.wide_projection = 128; }  // as released

  double proto_weight = 1;
  std::int64_t warmup_epochs = 1;    ///< without prototypes
  std::int64_t cluster_starts = 10;  ///< of the clusters before an epoch
  SplitMergeOptions changes;

  std::string name() const override { return "gpc"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<GpcOptions>(*this);
  }
  void declare(OptionTable& table) override;
  std::vector<PublishedSetting> published(const std::string&) const override {
    return {{"keep_merged", "true"}, {"rule", "gpc"}, contrast.head.published()};
  }
  std::string tuned_option() const override { return "proto_weight"; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

constexpr double kUnused = -1e9;  // added to the logit of a prototype that is not in use

class Gpc : public Method {
 public:
  Gpc(const GpcOptions& options, const MethodInput& input)
      : options_(options),
        k_(input.k()),
        old_classes_(input.old_classes),
        labelled_(input.labelled),
        seed_(input.seed),
        end_(options.clusters, input),
        projection_(options.contrast.make(input)),
        weight_(input.type, input.device) {
    const auto rows = at::device(input.device).dtype(input.type);
    // A split adds one prototype, and as released so does a merge.
    const std::int64_t most = 2 * k_ + (options.changes.keeps_merged ? k_ : 0);
    prototypes_ = at::zeros({most, input.width}, rows);
    spread_ = at::ones({most}, rows);
    offset_ = at::full({most}, kUnused, rows);
    cluster_ = at::zeros({std::max<std::int64_t>(input.labelled + input.unlabelled, 1)},
                         at::device(input.device).dtype(at::kLong));
  }

  std::map<std::string, at::Tensor> parameters() const override {
    return projection_.named_parameters();
  }
  std::map<std::string, at::Tensor> state() const override {
    return {{"prototypes", prototypes_},
            {"spread", spread_},
            {"offset", offset_},
            {"cluster", cluster_},
            {"weight", *weight_}};
  }
  std::vector<ReportedValue> reported() const override {
    return {{"unsup_con"}, {"sup_con"}, {"prototypes"}, {"clusters", ReportedKind::kSchedule}};
  }

  std::vector<double> begin_epoch(const EpochInput& input) override {
    if (!input.is_resumed && input.epoch >= options_.warmup_epochs) find_prototypes(input);
    return {(offset_ == 0).sum().item<double>()};
  }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& batch = batches[0];
    const ContrastLoss contrast =
        contrast_loss(projection_, options_.contrast, batch, communicator);
    const at::Tensor logits =
        at::matmul(unit_rows(batch.features), prototypes_.t()) / spread_ + offset_;  // [2B, P]
    const at::Tensor own = cluster_.index_select(0, batch.places).repeat({2}).unsqueeze(1);
    const at::Tensor prototypes = -at::log_softmax(logits, 1).gather(1, own).mean() /
                                  static_cast<double>(communicator.size());
    return {contrast.total + prototypes * *weight_, {contrast.unsup, contrast.sup, prototypes}};
  }

  Outcome outcome(SetFeatures& sets) const override { return end_.outcome(sets); }

 private:
  void find_prototypes(const EpochInput& input);

  const GpcOptions options_;
  const std::int64_t k_, old_classes_, labelled_;
  const std::uint64_t seed_;
  const ClusterEnd end_;
  Projection projection_;
  at::Tensor prototypes_;  ///< [P, D], unit rows; the first ones are in use
  at::Tensor spread_;      ///< [P], their temperatures
  at::Tensor offset_;      ///< [P], 0 where in use, else so low that nothing is drawn there
  at::Tensor cluster_;     ///< [N_l + N_u] int64, of each image by its place
  EpochScalar weight_;     ///< 0 before there are prototypes
};

void Gpc::find_prototypes(const EpochInput& input) {
  const at::NoGradGuard no_grad;
  if (input.sets.count(SampleSet::kUnlabelled) == 0) return;
  const at::Tensor rows = trained_on(input.sets).to(at::kDouble);
  if (!rows.isfinite().all().item<bool>()) return;  // the loop says that training diverged
  const Clustering found = cluster_images(
      input.sets,
      {.k = k_, .starts = options_.cluster_starts, .max_iterations = 100, .seed = seed_});
  const at::Tensor labels = found.labels.cpu();
  const NiwPrior prior{.mean = rows.mean(0), .nu = static_cast<double>(rows.size(1)) + 1};
  RandomStream random({.seed = seed_,
                       .purpose = RandomPurpose::kClustering,
                       .epoch = static_cast<std::uint32_t>(input.epoch)});
  const StopToken stop = input.sets.stop();
  const SplitMergeStep step = split_and_merge(
      rows, labels, found.centroids.to(at::kCPU, at::kDouble),
      halves_of(rows.to(at::kFloat), labels, k_, old_classes_, seed_, stop), old_classes_, prior,
      options_.changes, [&] { return random.uniform(); }, stop);
  at::Tensor nearest = nearest_centres(rows, step.centres);
  nearest.narrow(0, 0, labelled_).copy_(input.sets.labels());
  const std::int64_t used = step.centres.size(0);
  prototypes_.zero_();
  prototypes_.narrow(0, 0, used).copy_(unit_rows(step.centres));
  spread_.fill_(1);
  spread_.narrow(0, 0, used).copy_(cluster_spread(rows, step.centres, nearest));
  offset_.fill_(kUnused);
  offset_.narrow(0, 0, used).zero_();
  cluster_.copy_(nearest);
  weight_.set(options_.proto_weight);
}

void GpcOptions::declare(OptionTable& table) {
  table.add("proto_weight", &proto_weight, "weight of the pull to an image's prototype")
      .at_least(0);
  table.add("warmup_epochs", &warmup_epochs, "epochs before there are prototypes").at_least(0);
  table.add("cluster_starts", &cluster_starts, "times that k-means begins anew before an epoch")
      .at_least(1);
  table
      .add("split_chance", &changes.chance,
           "chance of a split or merge that does not make the images more likely")
      .at_least(0)
      .at_most(1);
  table.add("keep_merged", &changes.keeps_merged,
            "as released: clusters that are merged stay, and their mean is added");
  ContrastMethodOptions::declare(table);
}

std::unique_ptr<Method> GpcOptions::make(const MethodInput& input) const {
  return std::make_unique<Gpc>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> gpc_options();  // for registry.cpp
std::unique_ptr<MethodOptions> gpc_options() {
  return std::make_unique<GpcOptions>();
}

}  // namespace protogcd
