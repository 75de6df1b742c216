#include "protogcd/discovery/class_number_baselines.h"

#include <ATen/ATen.h>

#include <limits>
#include <map>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/analysis/bounded_minimum.h"
#include "protogcd/cluster/kmeans.h"
#include "protogcd/cluster/silhouette.h"

namespace protogcd {
namespace {

std::vector<std::int32_t> small_numbers(const at::Tensor& labels) {
  const at::Tensor narrow = labels.to(at::kInt).contiguous();
  const std::int32_t* first = narrow.const_data_ptr<std::int32_t>();
  return {first, first + narrow.numel()};
}

/// Share of the labelled images in the cluster that is matched to their class.
double labelled_accuracy(const Clustering& clusters, const at::Tensor& labels) {
  const Confusion confusion(small_numbers(clusters.labels.narrow(0, 0, labels.size(0))),
                            small_numbers(labels));
  return clustering_accuracy(confusion, match_clusters(confusion),
                             static_cast<std::int32_t>(confusion.classes()))
      .all;
}

}  // namespace

std::vector<double> labelled_accuracy_curve(const Candidate& frozen, const at::Tensor& labels,
                                            const std::vector<std::int64_t>& ks,
                                            const Context& context) {
  const Points points(at::cat({frozen.labelled, frozen.unlabelled}), "features");
  std::vector<double> curve;
  for (const std::int64_t k : ks) {
    curve.push_back(labelled_accuracy(
        kmeans(points, {.k = k, .starts = 5, .seed = context.seed, .stop = context.stop}), labels));
  }
  return curve;
}

std::vector<ClusterPoint> cluster_curve(const Candidate& frozen, const at::Tensor& labels,
                                        const std::vector<std::int64_t>& ks, std::int64_t starts,
                                        const Context& context) {
  const at::Tensor features = at::cat({frozen.labelled, frozen.unlabelled});
  const Points points(features, "features");
  const Silhouette silhouette(features);
  std::vector<ClusterPoint> curve;
  for (const std::int64_t k : ks) {
    const Clustering clusters =
        kmeans(points, {.k = k, .starts = starts, .seed = context.seed, .stop = context.stop});
    curve.push_back({.silhouette = silhouette(clusters.labels),
                     .inertia = clusters.inertia,
                     .accuracy = labels.size(0) == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                     : labelled_accuracy(clusters, labels)});
  }
  return curve;
}

std::size_t elbow_of(const std::vector<double>& values) {
  std::size_t best = 0;
  double farthest = 0;
  const double last = static_cast<double>(values.size()) - 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = last > 0 ? static_cast<double>(i) / last : 0;
    const double below = values.front() + share * (values.back() - values.front()) - values[i];
    if (below > farthest) {
      farthest = below;
      best = i;
    }
  }
  return best;
}

std::int64_t max_acc(const Candidate& frozen, const at::Tensor& labels, std::int64_t k_old,
                     std::int64_t k_max, const Context& context) {
  const Points points(at::cat({frozen.labelled, frozen.unlabelled}), "features");
  std::map<std::int64_t, double> known;  // the search comes back to the same numbers
  const auto loss = [&](double place) {
    const auto k = static_cast<std::int64_t>(place);
    if (!known.contains(k)) {
      known[k] = -labelled_accuracy(
          kmeans(points, {.k = k, .seed = context.seed, .stop = context.stop}), labels);
    }
    return known.at(k);
  };
  return static_cast<std::int64_t>(bounded_minimum(
      loss, {.low = static_cast<double>(k_old), .high = static_cast<double>(k_max)}));
}

}  // namespace protogcd
