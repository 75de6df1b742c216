#include "protogcd/methods/feature_clusters.h"

#include <ATen/ATen.h>

#include "protogcd/cluster/semi_supervised_kmeans.h"

namespace protogcd {
at::Tensor trained_on(SetFeatures& sets) {
  return at::cat(
      {unit_features(sets, SampleSet::kLabelled), unit_features(sets, SampleSet::kUnlabelled)});
}

at::Tensor known_labels(const SetFeatures& sets) {
  return at::cat({sets.labels(), at::full({sets.count(SampleSet::kUnlabelled)}, -1, at::kLong)});
}

Clustering cluster_images(SetFeatures& sets, const KMeansOptions& options) {
  return semi_supervised_kmeans(Points(trained_on(sets), "features"), known_labels(sets), options);
}

at::Tensor cluster_centres(SetFeatures& sets, std::int64_t k, std::int64_t starts,
                           std::uint64_t seed) {
  return cluster_images(sets, {.k = k, .starts = starts, .seed = seed}).centroids;
}

at::Tensor class_centres(SetFeatures& sets, const std::vector<std::int32_t>& classes,
                         std::int64_t k) {
  const at::Tensor rows = trained_on(sets),
                   own = at::cat({sets.labels(), at::tensor(classes).to(at::kLong)});
  const at::Tensor sums = at::zeros({k, rows.size(1)}, rows.options()).index_add_(0, own, rows);
  return sums / at::bincount(own, {}, k).clamp_min(1).unsqueeze(1);
}

std::optional<OwnClusters> clusters_from(SetFeatures& sets, const at::Tensor& centres) {
  const at::Tensor rows = trained_on(sets);
  if (!rows.isfinite().all().item<bool>() || !centres.isfinite().all().item<bool>()) return {};
  constexpr std::int64_t kRounds = 30;
  constexpr double kUnseen = 0.5;  // images that an empty cluster counts for
  const Clustering found =
      semi_supervised_lloyd(Points(rows, "features"), known_labels(sets),
                            centres.to(at::kCPU, at::kFloat), {.max_iterations = kRounds});
  const std::int64_t unlabelled = sets.count(SampleSet::kUnlabelled);
  const at::Tensor own = found.labels.narrow(0, found.labels.size(0) - unlabelled, unlabelled);
  const at::Tensor counts =
      at::bincount(own.to(at::kCPU), {}, centres.size(0)).to(at::kDouble) + kUnseen;
  const at::Tensor shares = counts / counts.sum();
  const auto* first = shares.const_data_ptr<double>();
  return OwnClusters{.centres = found.centroids, .shares = {first, first + shares.numel()}};
}

}  // namespace protogcd
