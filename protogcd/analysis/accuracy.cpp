#include "protogcd/analysis/accuracy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "protogcd/analysis/assignment.h"
#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : kNothing;
}

/// Sums of something over all, old and new classes, and of what to divide them by.
struct GroupMeans {
  explicit GroupMeans(std::int32_t old_class_count) : old_classes(old_class_count) {}

  void add(std::size_t of_class, double part, double whole) {
    const bool is_old = static_cast<std::int64_t>(of_class) < old_classes;
    (is_old ? old_part : new_part) += part;
    (is_old ? old_whole : new_whole) += whole;
  }

  Accuracy means() const {
    return {ratio(old_part + new_part, old_whole + new_whole), ratio(old_part, old_whole),
            ratio(new_part, new_whole)};
  }

  std::int32_t old_classes;
  double old_part = 0, old_whole = 0, new_part = 0, new_whole = 0;
};

double entropy(std::span<const std::int64_t> sizes, double samples) {
  double sum = 0;
  for (const std::int64_t size : sizes) {
    if (size > 0)
      sum -= static_cast<double>(size) / samples * std::log(static_cast<double>(size) / samples);
  }
  return sum;
}

double pairs(std::int64_t n) {
  return 0.5 * static_cast<double>(n) * static_cast<double>(n - 1);
}

double pairs_within(std::span<const std::int64_t> sizes) {
  return std::transform_reduce(sizes.begin(), sizes.end(), 0.0, std::plus<>(), pairs);
}

}  // namespace

Confusion::Confusion(std::span<const std::int32_t> predictions,
                     std::span<const std::int32_t> truths) {
  if (predictions.size() != truths.size()) {
    throw InternalError(
        fmt::format("Confusion: {} predictions for {} truths", predictions.size(), truths.size()));
  }
  std::int32_t last_cluster = -1, last_class = -1;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] < 0) continue;
    if (predictions[i] < 0 || predictions[i] > kMaxNumber || truths[i] > kMaxNumber) {
      throw InternalError(
          fmt::format("Confusion: cluster {} and class {} of sample {}: not from 0 to {}",
                      predictions[i], truths[i], i, kMaxNumber));
    }
    last_cluster = std::max(last_cluster, predictions[i]);
    last_class = std::max(last_class, truths[i]);
    ++samples_;
  }
  clusters_ = static_cast<std::size_t>(last_cluster) + 1;
  classes_ = static_cast<std::size_t>(last_class) + 1;
  counts_.resize(clusters_ * classes_);
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] < 0) continue;
    ++counts_[static_cast<std::size_t>(predictions[i]) * classes_ +
              static_cast<std::size_t>(truths[i])];
  }
}

std::vector<std::int64_t> Confusion::cluster_sizes() const {
  std::vector<std::int64_t> sizes(clusters_);
  for (std::size_t i = 0; i < counts_.size(); ++i) sizes[i / classes_] += counts_[i];
  return sizes;
}

std::vector<std::int64_t> Confusion::class_sizes() const {
  std::vector<std::int64_t> sizes(classes_);
  for (std::size_t i = 0; i < counts_.size(); ++i) sizes[i % classes_] += counts_[i];
  return sizes;
}

Confusion Confusion::of_classes(std::size_t first, std::size_t last) const {
  Confusion part;
  last = std::min(last, classes_);
  for (std::size_t cluster = 0; cluster < clusters_; ++cluster) {
    for (std::size_t c = first; c < last; ++c) {
      if (count(cluster, c) == 0) continue;
      part.clusters_ = cluster + 1;
      part.classes_ = std::max(part.classes_, c + 1);
      part.samples_ += count(cluster, c);
    }
  }
  part.counts_.resize(part.clusters_ * part.classes_);
  for (std::size_t cluster = 0; cluster < part.clusters_; ++cluster) {
    for (std::size_t c = first; c < part.classes_; ++c) {
      part.counts_[cluster * part.classes_ + c] = count(cluster, c);
    }
  }
  return part;
}

ClusterMapping match_clusters(const Confusion& confusion) {
  // The published code makes the table square. Sums do not need that, but ties fall by it.
  const std::size_t clusters = confusion.clusters(), classes = confusion.classes();
  const std::size_t side = std::max(clusters, classes);
  std::vector<std::int64_t> square(side * side);
  for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
    std::ranges::copy(confusion.counts().subspan(cluster * classes, classes),
                      square.begin() + static_cast<std::ptrdiff_t>(cluster * side));
  }
  const Assignment assignment = assign(square, side, side, AssignmentGoal::kMaximise);
  ClusterMapping mapping{std::vector<std::int32_t>(clusters, -1),
                         std::vector<std::int32_t>(classes, -1)};
  for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
    const auto c = static_cast<std::size_t>(assignment.column_of_row[cluster]);
    if (c >= classes || confusion.count(cluster, c) == 0) continue;
    mapping.class_of_cluster[cluster] = static_cast<std::int32_t>(c);
    mapping.cluster_of_class[c] = static_cast<std::int32_t>(cluster);
  }
  return mapping;
}

double ClassAccuracy::recall() const {
  return ratio(static_cast<double>(correct), static_cast<double>(samples));
}

double ClassAccuracy::precision() const {
  return ratio(static_cast<double>(correct), static_cast<double>(predicted));
}

std::vector<ClassAccuracy> class_accuracies(const Confusion& confusion,
                                            const ClusterMapping& mapping) {
  if (mapping.cluster_of_class.size() != confusion.classes()) {
    throw InternalError("class_accuracies: the mapping is of other classes");
  }
  const auto sizes = confusion.class_sizes(), cluster_sizes = confusion.cluster_sizes();
  std::vector<ClassAccuracy> accuracies(confusion.classes());
  for (std::size_t c = 0; c < accuracies.size(); ++c) {
    accuracies[c].samples = sizes[c];
    if (mapping.cluster_of_class[c] < 0) continue;
    const auto cluster = static_cast<std::size_t>(mapping.cluster_of_class[c]);
    accuracies[c].correct = confusion.count(cluster, c);
    accuracies[c].predicted = cluster_sizes[cluster];
  }
  return accuracies;
}

MatchingOrder matching_order(const Confusion& confusion, std::size_t clusters) {
  const ClusterMapping mapping = match_clusters(confusion);
  const auto sizes = confusion.class_sizes();
  std::vector<std::size_t> free, without;
  for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
    if (cluster >= confusion.clusters() || mapping.class_of_cluster[cluster] < 0)
      free.push_back(cluster);
  }
  MatchingOrder order;
  auto next_free = free.begin();
  for (std::size_t of_class = 0; of_class < confusion.classes(); ++of_class) {
    if (sizes[of_class] == 0) continue;
    const std::int32_t cluster = mapping.cluster_of_class[of_class];
    if (cluster < 0 && next_free == free.end()) {
      without.push_back(of_class);
      continue;
    }
    order.classes.push_back(of_class);
    order.clusters.push_back(cluster >= 0 ? static_cast<std::size_t>(cluster) : *next_free++);
  }
  order.classes.insert(order.classes.end(), without.begin(), without.end());
  order.clusters.insert(order.clusters.end(), next_free, free.end());
  return order;
}

Accuracy clustering_accuracy(const Confusion& confusion, const ClusterMapping& mapping,
                             std::int32_t old_classes) {
  GroupMeans groups(old_classes);
  const auto accuracies = class_accuracies(confusion, mapping);
  for (std::size_t c = 0; c < accuracies.size(); ++c) {
    groups.add(c, static_cast<double>(accuracies[c].correct),
               static_cast<double>(accuracies[c].samples));
  }
  return groups.means();
}

Accuracy balanced_accuracy(const Confusion& confusion, const ClusterMapping& mapping,
                           std::int32_t old_classes) {
  GroupMeans groups(old_classes);
  const auto accuracies = class_accuracies(confusion, mapping);
  for (std::size_t c = 0; c < accuracies.size(); ++c) {
    if (accuracies[c].samples > 0) groups.add(c, accuracies[c].recall(), 1);
  }
  return groups.means();
}

Accuracy separate_accuracy(const Confusion& confusion, std::int32_t old_classes) {
  GroupMeans groups(old_classes);
  const auto border = static_cast<std::size_t>(std::max(old_classes, 0));
  for (const Confusion& part :
       {confusion.of_classes(0, border), confusion.of_classes(border, confusion.classes())}) {
    const auto accuracies = class_accuracies(part, match_clusters(part));
    for (std::size_t c = 0; c < accuracies.size(); ++c) {
      groups.add(c, static_cast<double>(accuracies[c].correct),
                 static_cast<double>(accuracies[c].samples));
    }
  }
  return groups.means();
}

double normalized_mutual_information(const Confusion& confusion) {
  if (confusion.samples() == 0) return kNothing;
  const auto samples = static_cast<double>(confusion.samples());
  const auto of_cluster = confusion.cluster_sizes(), of_class = confusion.class_sizes();
  double information = 0;
  for (std::size_t cluster = 0; cluster < confusion.clusters(); ++cluster) {
    for (std::size_t c = 0; c < confusion.classes(); ++c) {
      const auto count = static_cast<double>(confusion.count(cluster, c));
      if (count == 0) continue;
      const double by_chance =
          static_cast<double>(of_cluster[cluster]) * static_cast<double>(of_class[c]) / samples;
      information += count / samples * std::log(count / by_chance);
    }
  }
  const double mean = 0.5 * (entropy(of_cluster, samples) + entropy(of_class, samples));
  return mean > 0 ? std::clamp(information / mean, 0.0, 1.0) : 1;
}

double adjusted_rand_index(const Confusion& confusion) {
  if (confusion.samples() == 0) return kNothing;
  const double together = pairs_within(confusion.counts());
  const double in_clusters = pairs_within(confusion.cluster_sizes());
  const double in_classes = pairs_within(confusion.class_sizes());
  // Equal partitions; also where all or none of the pairs are together and chance has no room.
  if (together == in_clusters && together == in_classes) return 1;
  const double by_chance = in_clusters * in_classes / pairs(confusion.samples());
  return (together - by_chance) / (0.5 * (in_clusters + in_classes) - by_chance);
}

}  // namespace protogcd
