// How tight classes are and how far apart, in feature space (paper, section VI-D):
//   compactness  mean over classes of the mean cosine of a class's images with its mean direction
//   separation   mean cosine of two different classes' mean directions; lower is farther apart
#pragma once

#include <cstdint>
#include <span>

namespace protogcd {

struct ClusterMetrics {
  struct Values {
    double compactness = 0, separation = 0;  ///< NaN: no class, or less than two for separation
    std::int64_t classes = 0;                ///< that have images
  };
  Values all, old_classes, new_classes;
};

/// features [N, D], unit rows; truths [N], negative where unknown (left out). Classes without
/// images are left out too. DataError where a feature is not a number.
ClusterMetrics cluster_metrics(std::span<const float> features, std::size_t dimension,
                               std::span<const std::int32_t> truths, std::int64_t old_classes);

}  // namespace protogcd
