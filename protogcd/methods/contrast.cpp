#include "protogcd/methods/contrast.h"

#include <ATen/ATen.h>

#include "protogcd/methods/feature_clusters.h"
#include "protogcd/methods/losses.h"

namespace protogcd {

void ContrastOptions::declare(OptionTable& table) {
  table.add("sup_weight", &sup_weight, "share of the supervised contrast").at_least(0).at_most(1);
  table.add("unsup_con_temperature", &unsup_temperature, "of the unsupervised contrast").above(0);
  table.add("sup_con_temperature", &sup_temperature, "of the supervised contrast").above(0);
  table
      .add("wide_projection", &wide_projection,
           "numbers of the projection's last layer, of which cosines alone are computed; 0: none")
      .at_least(0);
  head.declare(table);
}

Projection ContrastOptions::make(const MethodInput& input, std::int64_t stacked) const {
  return head.make_projection(input, wide_projection, stacked);
}

ContrastLoss contrast_loss(const Projection& projection, const ContrastOptions& options,
                           const StepBatch& batch, Communicator& communicator) {
  // The wide layer's outputs are only ever compared: their cosines come of a [P, P] matrix.
  const Contrasted rows{projection.narrow(batch.features),
                        options.wide_projection > 0 ? projection.gram() : at::Tensor()};
  const at::Tensor unsup =
      unsupervised_contrastive_loss(rows, options.unsup_temperature, communicator);
  const at::Tensor sup =
      supervised_contrastive_loss(rows, batch, options.sup_temperature, communicator);
  return {unsup * (1 - options.sup_weight) + sup * options.sup_weight, unsup, sup};
}

void ClusterOptions::declare(OptionTable& table) {
  table.add("kmeans_starts", &starts, "times that k-means begins anew; the tightest is kept")
      .at_least(1)
      .at_most(10'000);
  table.add(
      "plain_seeding", &plain_seeding,
      "k-means begins as in the release: one draw for each new cluster, not the best of some");
}

void ContrastMethodOptions::declare(OptionTable& table) {
  contrast.declare(table);
  clusters.declare(table);
}

std::vector<PublishedSetting> ContrastMethodOptions::with_gcds(
    std::vector<PublishedSetting> settings) const {
  settings.insert(settings.end(),
                  {{"kmeans_starts", "100"}, {"plain_seeding", "true"}, contrast.head.published()});
  return settings;
}

Outcome ClusterEnd::outcome(SetFeatures& sets) const {
  Clustering found = cluster_images(
      sets,
      {.k = k_, .starts = options_.starts, .seed = seed_, .plain_seeding = options_.plain_seeding});
  if (taken_.keeps_classes(old_classes_))
    found = numbered_as(std::move(found), taken_.prototypes, old_classes_);
  const std::int64_t unlabelled = sets.count(SampleSet::kUnlabelled);
  const at::Tensor own = found.labels.narrow(0, found.labels.size(0) - unlabelled, unlabelled)
                             .to(at::kCPU, at::kInt)
                             .contiguous();
  const auto* first = own.const_data_ptr<std::int32_t>();
  return {.prototypes = {.centres = found.centroids, .bias = found.centroids.square().sum(1) / -2},
          .labels = {first, first + unlabelled}};
}

}  // namespace protogcd
