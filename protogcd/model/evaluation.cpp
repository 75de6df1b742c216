#include "protogcd/model/evaluation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "protogcd/analysis/bootstrap.h"
#include "protogcd/analysis/calibration.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/json.h"

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

std::string in_percent(double share, const char* for_nan) {
  return std::isnan(share) ? for_nan : fmt::format("{:.1f}", 100 * share);
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
  std::optional<AccuracyIntervals> intervals;
  if (confusion.samples() > 0) intervals = accuracy_intervals(confusion, mapping, old);
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
              mean_confidence(predictions, truths, old, std::numeric_limits<std::int32_t>::max()),
          .intervals = intervals};
}

double calibration_error_of(const Predictions& predictions, std::span<const std::int32_t> truths) {
  const Confusion confusion(predictions.labels, truths);
  if (confusion.samples() == 0) return std::numeric_limits<double>::quiet_NaN();
  const ClusterMapping mapping = match_clusters(confusion);
  std::vector<float> confidence;
  std::vector<bool> right;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] < 0) continue;
    const auto cluster = static_cast<std::size_t>(predictions.labels[i]);
    confidence.push_back(predictions.confidence[i]);
    right.push_back(mapping.class_of_cluster[cluster] == truths[i]);
  }
  return calibration_error(confidence, right);
}

ClassTables::ClassTables(const Predictions& predictions, std::span<const std::int32_t> truths,
                         std::span<const std::string> classes,
                         std::span<const std::string> clusters)
    : classes_(classes.begin(), classes.end()),
      clusters_(clusters.begin(), clusters.end()),
      confusion_(predictions.labels, truths),
      mapping_(match_clusters(confusion_)),
      accuracies_(class_accuracies(confusion_, mapping_)),
      order_(matching_order(confusion_, clusters.size())) {}

std::string ClassTables::cluster_of(std::size_t of_class) const {
  const std::int32_t cluster = mapping_.cluster_of_class[of_class];
  return cluster < 0 ? "" : clusters_[static_cast<std::size_t>(cluster)];
}

std::string ClassTables::confusion_csv() const {
  std::string csv = "class";
  for (const std::size_t cluster : order_.clusters)
    csv += fmt::format(",{}", csv_field(clusters_[cluster]));
  csv += "\n";
  for (const std::size_t of_class : order_.classes) {
    csv += csv_field(classes_[of_class]);
    for (const std::size_t cluster : order_.clusters)
      csv += fmt::format(",{}", count(cluster, of_class));
    csv += "\n";
  }
  return csv;
}

std::string ClassTables::classes_csv() const {
  std::string csv = "class,cluster,images,correct,recall,precision\n";
  for (const std::size_t of_class : order_.classes) {
    const ClassAccuracy& accuracy = accuracies_[of_class];
    csv += fmt::format("{},{},{},{},{},{}\n", csv_field(classes_[of_class]),
                       csv_field(cluster_of(of_class)), accuracy.samples, accuracy.correct,
                       in_percent(accuracy.recall(), ""), in_percent(accuracy.precision(), ""));
  }
  return csv;
}

nlohmann::json ClassTables::to_json() const {
  nlohmann::json classes = nlohmann::json::array();
  for (const std::size_t of_class : order_.classes) {
    const ClassAccuracy& accuracy = accuracies_[of_class];
    nlohmann::json taken_for = nlohmann::json::object();
    for (const std::size_t cluster : order_.clusters) {
      if (count(cluster, of_class) > 0) taken_for[clusters_[cluster]] = count(cluster, of_class);
    }
    const bool matched = mapping_.cluster_of_class[of_class] >= 0;
    classes.push_back({{"class", classes_[of_class]},
                       {"cluster", matched ? nlohmann::json(cluster_of(of_class)) : nullptr},
                       {"images", accuracy.samples},
                       {"correct", accuracy.correct},
                       {"recall", 100 * accuracy.recall()},
                       {"precision", 100 * accuracy.precision()},
                       {"taken_for", taken_for}});
  }
  return classes;
}

std::string ClassTables::in_words() const {
  if (order_.classes.size() > kMostInWords) return "";
  std::size_t name_width = 5, cluster_width = 7;
  for (const std::size_t of_class : order_.classes)
    name_width = std::max(name_width, classes_[of_class].size());
  for (const std::size_t cluster : order_.clusters)
    cluster_width = std::max(cluster_width, clusters_[cluster].size());
  std::string words = fmt::format("      {:<{}}  {:<{}}  images  recall  precision\n", "class",
                                  name_width, "cluster", cluster_width);
  for (std::size_t row = 0; row < order_.classes.size(); ++row) {
    const std::size_t of_class = order_.classes[row];
    const ClassAccuracy& accuracy = accuracies_[of_class];
    const std::string cluster = cluster_of(of_class);
    words +=
        fmt::format("  {:>2}  {:<{}}  {:<{}}  {:>6}  {:>6}  {:>9}\n", row + 1, classes_[of_class],
                    name_width, cluster.empty() ? "-" : cluster, cluster_width, accuracy.samples,
                    in_percent(accuracy.recall(), "-"), in_percent(accuracy.precision(), "-"));
  }
  const std::size_t width = std::to_string(confusion_.samples()).size() + 2;
  words += "  images of these classes (rows) by the cluster they are in (columns)\n    ";
  for (std::size_t column = 1; column <= order_.clusters.size(); ++column)
    words += fmt::format("{:>{}}", column, width);
  for (std::size_t row = 0; row < order_.classes.size(); ++row) {
    words += fmt::format("\n  {:>2}", row + 1);
    for (const std::size_t cluster : order_.clusters)
      words += fmt::format("{:>{}}", count(cluster, order_.classes[row]), width);
  }
  words += "\n";
  for (std::size_t column = 0; column < order_.clusters.size(); ++column) {
    const std::size_t cluster = order_.clusters[column];
    if (cluster >= confusion_.clusters() || mapping_.class_of_cluster[cluster] < 0)
      words +=
          fmt::format("  {:>2}  {}: stands for none of them\n", column + 1, clusters_[cluster]);
  }
  return words;
}

}  // namespace protogcd
