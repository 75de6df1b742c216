// Clusters of the images that are trained on, by what the blocks make of them at the moment.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "protogcd/cluster/kmeans.h"
#include "protogcd/methods/method.h"

namespace protogcd {

/// Unit features of labelled images, then of unlabelled ones, by their places: [N, D] on the CPU.
at::Tensor trained_on(SetFeatures& sets);
/// Of these rows: -1 where there is none. [N] int64
at::Tensor known_labels(const SetFeatures& sets);

/// Semi-supervised k-means (Vaze et al., CVPR 2022) of labelled and unlabelled images' unit
/// features, in this order: the old classes are the first clusters. Stops where the sets say so.
Clustering cluster_images(SetFeatures& sets, KMeansOptions options);
/// Numbers the clusters from `first` on as an earlier run did whose prototypes [K, D] are given:
/// each has the number of the one that it looks most like, all of them together. Rows of zeros are
/// classes that it did not have: those of the clusters that are left.
Clustering numbered_as(Clustering clusters, const at::Tensor& prototypes, std::int64_t first);
/// The centres [K, D] alone, on the CPU: of the tightest of `starts`.
at::Tensor cluster_centres(SetFeatures& sets, std::int64_t k, std::int64_t starts,
                           std::uint64_t seed);

/// Of clusters numbered in this way, the centres [K, D] of classes that the earlier run did not
/// have, 0 for the others.
at::Tensor further_centres(SetFeatures& sets, const at::Tensor& prototypes, std::int64_t first,
                           std::int64_t starts, std::uint64_t seed);

/// The clusters that k-means comes to from these centres [K, D], labelled images in their own:
/// what classes look like where nothing is expected of their sizes.
struct OwnClusters {
  at::Tensor centres;          ///< [K, D] on the CPU
  std::vector<double> shares;  ///< [K] of the unlabelled images, none of them 0
};
/// Nothing where a training that diverged has made features no numbers.
std::optional<OwnClusters> clusters_from(SetFeatures& sets, const at::Tensor& centres);

/// Means [K, D] on the CPU of the classes' unit features, labelled images in their own: 0 for a
/// class without any. `classes`: of the unlabelled images.
at::Tensor class_centres(SetFeatures& sets, const std::vector<std::int32_t>& classes,
                         std::int64_t k);

}  // namespace protogcd
