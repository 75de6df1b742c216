#include "protogcd/cluster/semi_supervised_kmeans.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/cluster/lloyd.h"
#include "protogcd/cluster/seeding.h"
#include "protogcd/core/error.h"

namespace protogcd {
namespace {

/// Means of the labelled rows of every class, [K_old, D].
at::Tensor class_means(const Points& points, const at::Tensor& labelled, const at::Tensor& classes,
                       std::int64_t old_classes) {
  const at::Tensor sizes = points.over_all(at::bincount(classes, {}, old_classes));  // [K_old]
  const at::Tensor empty = (sizes == 0).nonzero();
  if (empty.size(0) > 0) {
    throw DataError(fmt::format("{}: class {} has no labelled row, though higher numbers have",
                                points.name(), empty[0].item<std::int64_t>()));
  }
  const auto& rows = points.rows();
  const at::Tensor sums = points.over_all(
      at::zeros({old_classes, points.width()}, rows.options().dtype(at::kDouble))
          .index_add_(0, classes.to(rows.device()),
                      rows.index_select(0, labelled.to(rows.device())).to(at::kDouble)));
  return (sums / sizes.to(rows.device()).unsqueeze(1)).to(rows.scalar_type());
}

void check_labels(const Points& points, const at::Tensor& labels) {
  if (labels.dim() != 1 || labels.size(0) != points.size() || labels.scalar_type() != at::kLong)
    throw InternalError("labels of semi-supervised k-means: expected [N] int64");
}

/// As nearest_centroids.h wants them.
at::Tensor fixed_rows(const Points& points, const at::Tensor& labels) {
  return labels.clamp_min(-1).to(points.rows().device()).contiguous();
}

}  // namespace

Clustering semi_supervised_kmeans(const Points& points, const at::Tensor& labels,
                                  const KMeansOptions& options) {
  check_cluster_count(points, options);
  check_labels(points, labels);
  const auto old_classes = std::max<std::int64_t>(
      points.team().all_gather(labels.max().reshape({1})).max().item<std::int64_t>() + 1, 0);
  if (old_classes == 0) return kmeans(points, options);
  if (options.k < old_classes) {
    throw UsageError(fmt::format("k: {} clusters for {} labelled classes ({})", options.k,
                                 old_classes, points.name()),
                     "k counts labelled and new classes together");
  }
  const at::Tensor labelled = (labels >= 0).nonzero().squeeze(1);
  const std::int64_t unlabelled = points.total() - points.over_all(labelled.size(0));
  if (options.k - old_classes > unlabelled) {
    throw UsageError(fmt::format("k: {} new clusters of {} unlabelled rows ({})",
                                 options.k - old_classes, unlabelled, points.name()));
  }
  const at::Tensor means =
      class_means(points, labelled, labels.index_select(0, labelled), old_classes);
  const at::Tensor fixed = fixed_rows(points, labels);
  KMeansOptions some = options;
  if (options.k == old_classes) some.starts = 1;  // nothing is drawn
  return best_start(points,
                    {.k = options.k, .seed = options.seed, .given = means, .free = fixed < 0},
                    fixed, some);
}

Clustering semi_supervised_lloyd(const Points& points, const at::Tensor& labels,
                                 const at::Tensor& centroids, const KMeansOptions& options) {
  check_labels(points, labels);
  return run_lloyd(points, (centroids.to(points.rows().options()) - points.mean()).contiguous(),
                   fixed_rows(points, labels), options);
}

}  // namespace protogcd
