#include "protogcd/discovery/class_number_baselines.h"

#include <ATen/ATen.h>

#include <limits>
#include <map>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/analysis/bounded_minimum.h"
#include "protogcd/cluster/kmeans.h"
#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/cluster/silhouette.h"
#include "protogcd/methods/concepts.h"
#include "protogcd/methods/split_merge.h"

namespace protogcd {
namespace {

std::vector<std::int32_t> small_numbers(const at::Tensor& labels) {
  const at::Tensor narrow = labels.to(at::kInt).contiguous();
  const std::int32_t* first = narrow.const_data_ptr<std::int32_t>();
  return {first, first + narrow.numel()};
}

/// Of labelled images, then -1 for the others.
at::Tensor labels_of_all(const Candidate& frozen, const at::Tensor& labels) {
  return at::cat({labels, at::full({frozen.unlabelled.size(0)}, -1, at::kLong)});
}

/// The directions in which rows [N, D] differ most, at most `count` of them: [N, count] in float64.
at::Tensor main_directions(const at::Tensor& rows, std::int64_t count) {
  const at::Tensor centred = rows.to(at::kDouble) - rows.to(at::kDouble).mean(0);
  const at::Tensor axes = std::get<1>(at::linalg_eigh(at::matmul(centred.t(), centred)));
  return at::matmul(centred, axes.slice(1, std::max<std::int64_t>(0, axes.size(1) - count)));
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

std::int64_t count_communities(const Candidate& frozen, const at::Tensor& labels,
                               std::int64_t k_old, std::int64_t k_max, const Context& context) {
  constexpr std::int64_t kOrders = 10;
  const Concepts found =
      find_concepts(at::cat({frozen.labelled, frozen.unlabelled}), labels_of_all(frozen, labels),
                    {.map = {.trials = kOrders, .seed = context.seed}}, context.stop);
  return std::clamp<std::int64_t>(found.count, std::max<std::int64_t>(k_old, 1), k_max);
}

SplitCount count_by_splits(const Candidate& frozen, const at::Tensor& labels, std::int64_t k_old,
                           std::int64_t k_max, const Context& context) {
  // In all of a backbone's dimensions the likelihood follows the size of a cluster, not its shape.
  constexpr std::int64_t kDirections = 32, kRounds = 20, kStartsOfRound = 3,
                         kFirstWithoutLabels = 10;
  const at::Tensor rows =
      main_directions(at::cat({frozen.labelled, frozen.unlabelled}), kDirections);
  const at::Tensor known = labels_of_all(frozen, labels);
  const NiwPrior prior{.mean = rows.mean(0), .nu = static_cast<double>(rows.size(1)) + 2};
  const Points points(rows.to(at::kFloat), "features");
  std::int64_t k = std::min(k_max, k_old == 0 ? kFirstWithoutLabels : k_old + (k_old + 1) / 2);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    const Clustering clusters = semi_supervised_kmeans(
        points, known,
        {.k = k, .starts = kStartsOfRound, .seed = context.seed, .stop = context.stop});
    const SplitMergeStep step = split_and_merge(
        rows, clusters.labels, clusters.centroids.to(at::kDouble),
        halves_of(rows.to(at::kFloat), clusters.labels, k, k_old, context.seed, context.stop),
        k_old, prior, {.chance = 0}, [] { return 1.0; }, context.stop);
    const std::int64_t now = std::min(step.centres.size(0), k_max);
    if (now == k) return {.k = k, .has_settled = true};
    k = now;
  }
  return {.k = k};
}

}  // namespace protogcd
