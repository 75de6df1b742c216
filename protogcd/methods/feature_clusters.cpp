#include "protogcd/methods/feature_clusters.h"

#include <ATen/ATen.h>

#include "protogcd/cluster/semi_supervised_kmeans.h"

namespace protogcd {

at::Tensor cluster_centres(SetFeatures& sets, std::int64_t k, std::int64_t starts,
                           std::uint64_t seed) {
  const at::Tensor rows = at::cat(
      {unit_features(sets, SampleSet::kLabelled), unit_features(sets, SampleSet::kUnlabelled)});
  const at::Tensor unlabelled = at::full({sets.count(SampleSet::kUnlabelled)}, -1, at::kLong);
  return semi_supervised_kmeans(Points(rows, "features"), at::cat({sets.labels(), unlabelled}),
                                {.k = k, .starts = starts, .seed = seed})
      .centroids;
}

}  // namespace protogcd
