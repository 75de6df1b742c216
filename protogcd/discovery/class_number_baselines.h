// Others' ways to count classes, on the features of the backbone as it is.
//
//   max-acc     GCD's (Vaze et al. 2022): the K whose k-means clusters agree best with the given
//               labels, searched by bounded Brent as the released code does
//   silhouette  the K whose clusters have the highest mean silhouette
//   elbow       the K where the curve of the inertia is farthest below the line between its ends
//   infomap     DCCL's (Pu et al. 2023): communities of the graph of nearest images
//               (methods/concepts.h)
//   gpc         GPC's (Zhao et al. 2023): clusters are split and merged by their likelihood until
//               their number stays, or 20 times (methods/split_merge.h)
#pragma once

#include <cstdint>
#include <vector>

#include "protogcd/training/candidate.h"

namespace protogcd {

/// labels [N_l] int64 of the labelled images.
std::int64_t max_acc(const Candidate& frozen, const at::Tensor& labels, std::int64_t k_old,
                     std::int64_t k_max, const Context& context);

/// The same arguments; within k_old and k_max.
std::int64_t count_communities(const Candidate& frozen, const at::Tensor& labels,
                               std::int64_t k_old, std::int64_t k_max, const Context& context);
struct SplitCount {
  std::int64_t k = 0;
  bool has_settled = false;  ///< else the last round still changed it
};
SplitCount count_by_splits(const Candidate& frozen, const at::Tensor& labels, std::int64_t k_old,
                           std::int64_t k_max, const Context& context);

/// Of k-means clusters of all images, for each number of clusters: the share of the labelled images
/// that are in the cluster matched to their class. What max-acc maximises.
std::vector<double> labelled_accuracy_curve(const Candidate& frozen, const at::Tensor& labels,
                                            const std::vector<std::int64_t>& ks,
                                            const Context& context);

/// What k-means makes of all images with some number of clusters.
struct ClusterPoint {
  double silhouette = 0, inertia = 0;
  double accuracy = 0;  ///< as above; NaN where no image is labelled
};
std::vector<ClusterPoint> cluster_curve(const Candidate& frozen, const at::Tensor& labels,
                                        const std::vector<std::int64_t>& ks, std::int64_t starts,
                                        const Context& context);

/// The position of the value that is farthest below the line from the first to the last.
std::size_t elbow_of(const std::vector<double>& values);

}  // namespace protogcd
