#include "protogcd/model/evaluation.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "protogcd/core/csv.h"

namespace protogcd {

namespace {

/// Mean confidence over the images whose class is in [first, last).
double mean_confidence(const Predictions& predictions, std::span<const std::int32_t> truths,
                       std::int32_t first, std::int32_t last) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] < first || truths[i] >= last) continue;
    sum += predictions.confidence[i];
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Evaluation evaluate(const Predictions& predictions, std::span<const std::int32_t> truths,
                    std::int64_t old_classes) {
  const auto old = static_cast<std::int32_t>(old_classes);
  const Confusion confusion(predictions.labels, truths);
  const ClusterMapping mapping = match_clusters(confusion);
  const auto predicted_old =
      std::ranges::count_if(predictions.labels, [&](std::int32_t label) { return label < old; });
  const auto end = predictions.marginal.begin() +
                   std::min<std::ptrdiff_t>(old, std::ssize(predictions.marginal));
  return {.samples = confusion.samples(),
          .accuracy = clustering_accuracy(confusion, mapping, old),
          .balanced = balanced_accuracy(confusion, mapping, old),
          .separate = separate_accuracy(confusion, old),
          .nmi = normalized_mutual_information(confusion),
          .ari = adjusted_rand_index(confusion),
          .marginal_old = std::accumulate(predictions.marginal.begin(), end, 0.0),
          .predicted_old = static_cast<double>(predicted_old) /
                           static_cast<double>(std::max<std::size_t>(predictions.size(), 1)),
          .confidence_old = mean_confidence(predictions, truths, 0, old),
          .confidence_new =
              mean_confidence(predictions, truths, old, std::numeric_limits<std::int32_t>::max())};
}

std::string confusion_csv(const Predictions& predictions, std::span<const std::int32_t> truths,
                          std::span<const std::string> classes,
                          std::span<const std::string> clusters) {
  const Confusion confusion(predictions.labels, truths);
  const MatchingOrder order = matching_order(confusion, clusters.size());
  std::string csv = "class";
  for (const std::size_t cluster : order.clusters)
    csv += fmt::format(",{}", csv_field(clusters[cluster]));
  csv += "\n";
  for (const std::size_t of_class : order.classes) {
    csv += csv_field(classes[of_class]);
    for (const std::size_t cluster : order.clusters) {
      csv += fmt::format(",{}",
                         cluster < confusion.clusters() ? confusion.count(cluster, of_class) : 0);
    }
    csv += "\n";
  }
  return csv;
}

}  // namespace protogcd
