#include "protogcd/methods/feature_clusters.h"

#include <ATen/ATen.h>

#include "protogcd/cluster/semi_supervised_kmeans.h"

namespace protogcd {
namespace {

/// Labelled images, then unlabelled ones.
at::Tensor trained_on(SetFeatures& sets) {
  return at::cat(
      {unit_features(sets, SampleSet::kLabelled), unit_features(sets, SampleSet::kUnlabelled)});
}

}  // namespace

at::Tensor cluster_centres(SetFeatures& sets, std::int64_t k, std::int64_t starts,
                           std::uint64_t seed) {
  const at::Tensor unlabelled = at::full({sets.count(SampleSet::kUnlabelled)}, -1, at::kLong);
  return semi_supervised_kmeans(Points(trained_on(sets), "features"),
                                at::cat({sets.labels(), unlabelled}),
                                {.k = k, .starts = starts, .seed = seed})
      .centroids;
}

at::Tensor class_centres(SetFeatures& sets, const std::vector<std::int32_t>& classes,
                         std::int64_t k) {
  const at::Tensor rows = trained_on(sets),
                   own = at::cat({sets.labels(), at::tensor(classes).to(at::kLong)});
  const at::Tensor sums = at::zeros({k, rows.size(1)}, rows.options()).index_add_(0, own, rows);
  return sums / at::bincount(own, {}, k).clamp_min(1).unsqueeze(1);
}

}  // namespace protogcd
