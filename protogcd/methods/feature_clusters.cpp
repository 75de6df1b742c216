#include "protogcd/methods/feature_clusters.h"

#include <ATen/ATen.h>

#include "protogcd/analysis/assignment.h"
#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/nn/head.h"

namespace protogcd {
at::Tensor trained_on(SetFeatures& sets) {
  return at::cat(
      {unit_features(sets, SampleSet::kLabelled), unit_features(sets, SampleSet::kUnlabelled)});
}

at::Tensor known_labels(const SetFeatures& sets) {
  return at::cat({sets.labels(), at::full({sets.count(SampleSet::kUnlabelled)}, -1, at::kLong)});
}

Clustering cluster_images(SetFeatures& sets, KMeansOptions options) {
  options.stop = sets.stop();
  return semi_supervised_kmeans(Points(trained_on(sets), "features"), known_labels(sets), options);
}

Clustering numbered_as(Clustering clusters, const at::Tensor& prototypes, std::int64_t first) {
  const std::int64_t count = prototypes.size(0) - first;
  if (count < 2) return clusters;
  constexpr double kSteps = 1e9;  // cosines as whole numbers
  const at::Tensor centres = clusters.centroids.narrow(0, first, count).to(at::kCPU, at::kDouble);
  const at::Tensor wanted = prototypes.narrow(0, first, count).to(at::kCPU, at::kDouble);
  const at::Tensor likeness =
      (at::matmul(unit_rows(centres), unit_rows(wanted).t()) * kSteps).round().to(at::kLong);
  const auto cells = static_cast<std::size_t>(likeness.numel()),
             side = static_cast<std::size_t>(count);
  const Assignment found = assign({likeness.const_data_ptr<std::int64_t>(), cells}, side, side,
                                  AssignmentGoal::kMaximise);
  at::Tensor number = at::arange(prototypes.size(0), at::kLong);  // of each cluster
  for (std::size_t i = 0; i < side; ++i)
    number[first + static_cast<std::int64_t>(i)] = first + found.column_of_row[i];
  clusters.centroids =
      clusters.centroids.index_select(0, number.argsort().to(clusters.centroids.device()));
  clusters.labels = number.to(clusters.labels.device()).index_select(0, clusters.labels);
  return clusters;
}

at::Tensor cluster_centres(SetFeatures& sets, std::int64_t k, std::int64_t starts,
                           std::uint64_t seed) {
  return cluster_images(sets, {.k = k, .starts = starts, .seed = seed}).centroids;
}

at::Tensor further_centres(SetFeatures& sets, const at::Tensor& prototypes, std::int64_t first,
                           std::int64_t starts, std::uint64_t seed) {
  const Clustering found =
      numbered_as(cluster_images(sets, {.k = prototypes.size(0), .starts = starts, .seed = seed}),
                  prototypes, first);
  return found.centroids * prototypes.eq(0).all(1, /*keepdim=*/true);
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
  const Clustering found = semi_supervised_lloyd(Points(rows, "features"), known_labels(sets),
                                                 centres.to(at::kCPU, at::kFloat),
                                                 {.max_iterations = kRounds, .stop = sets.stop()});
  const std::int64_t unlabelled = sets.count(SampleSet::kUnlabelled);
  const at::Tensor own = found.labels.narrow(0, found.labels.size(0) - unlabelled, unlabelled);
  const at::Tensor counts =
      at::bincount(own.to(at::kCPU), {}, centres.size(0)).to(at::kDouble) + kUnseen;
  const at::Tensor shares = counts / counts.sum();
  const auto* first = shares.const_data_ptr<double>();
  return OwnClusters{.centres = found.centroids, .shares = {first, first + shares.numel()}};
}

}  // namespace protogcd
