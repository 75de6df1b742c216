#include "protogcd/analysis/cluster_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

struct ClassMean {
  std::vector<double> direction;  ///< [D], the sum of its images' features, then of length 1
  std::int64_t images = 0;
  double cosines = 0;  ///< summed over its images
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

ClusterMetrics::Values values_of(std::span<const ClassMean> classes) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double compactness = 0, separation = 0, pairs = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].images == 0) continue;
    ++count;
    compactness += classes[i].cosines / static_cast<double>(classes[i].images);
    for (std::size_t j = 0; j < i; ++j) {
      if (classes[j].images == 0) continue;
      separation += dot(classes[i].direction, classes[j].direction);
      ++pairs;
    }
  }
  return {.compactness = count > 0 ? compactness / static_cast<double>(count) : kNone,
          .separation = pairs > 0 ? separation / pairs : kNone,
          .classes = count};
}

}  // namespace

ClusterMetrics cluster_metrics(std::span<const float> features, std::size_t dimension,
                               std::span<const std::int32_t> truths, std::int64_t old_classes) {
  const std::int32_t last = truths.empty() ? -1 : *std::ranges::max_element(truths);
  std::vector<ClassMean> classes(static_cast<std::size_t>(std::max(last, -1) + 1),
                                 {std::vector<double>(dimension), 0, 0});
  const auto row = [&](std::size_t i) { return features.subspan(i * dimension, dimension); };
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] < 0) continue;
    ClassMean& mean = classes[static_cast<std::size_t>(truths[i])];
    ++mean.images;
    for (std::size_t d = 0; d < dimension; ++d) mean.direction[d] += row(i)[d];
  }
  for (ClassMean& mean : classes) {
    const double length = std::sqrt(dot(mean.direction, mean.direction));
    if (std::isnan(length)) throw DataError("the features of an image are not numbers");
    if (length > 0)
      for (double& value : mean.direction) value /= length;
  }
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] < 0) continue;
    ClassMean& mean = classes[static_cast<std::size_t>(truths[i])];
    mean.cosines +=
        std::inner_product(mean.direction.begin(), mean.direction.end(), row(i).begin(), 0.0);
  }
  const std::span<const ClassMean> all(classes);
  const auto old = std::min(static_cast<std::size_t>(old_classes), all.size());
  return {values_of(all), values_of(all.first(old)), values_of(all.subspan(old))};
}

}  // namespace protogcd
