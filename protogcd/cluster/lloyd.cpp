#include "protogcd/cluster/lloyd.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "protogcd/cluster/assignment.h"
#include "protogcd/core/error.h"

namespace protogcd {

Clustering run_lloyd(const Points& points, at::Tensor centroids, const at::Tensor& fixed,
                     const KMeansOptions& options) {
  const auto assignment = make_assignment(points, centroids.size(0), fixed);
  const double tolerance = options.tolerance * points.mean_variance();
  std::int64_t iterations = 0;
  bool settled = false;
  while (!settled && iterations < options.max_iterations) {
    check_interrupt(options.interrupt);
    const std::int64_t changed = assignment->assign(centroids);
    const std::int64_t moved = assignment->fill_empty(centroids);
    const at::Tensor next = assignment->means(centroids);
    settled = changed + moved == 0;
    const double shift = (next - centroids).square().sum(at::kDouble).item<double>();
    centroids = next;
    ++iterations;
    if (shift <= tolerance) break;
  }
  if (!settled) assignment->assign(centroids);  // labels are those of the last centroids
  const at::Tensor labels = assignment->labels();
  return {.labels = labels,
          .centroids = centroids + points.mean(),
          .inertia = own_distances(points, centroids, labels).sum().item<double>(),
          .iterations = iterations};
}

Clustering best_start(const Points& points, SeedingOptions seeding, const at::Tensor& fixed,
                      const KMeansOptions& options) {
  const std::int64_t starts = seeding.starts, together = starts_together(options.k);
  seeding.interrupt = options.interrupt;
  Clustering best;
  for (std::int64_t first = 0; first < starts; first += together) {
    seeding.first_start = first;
    seeding.starts = std::min(together, starts - first);
    for (const at::Tensor& start : kmeans_plus_plus(points, seeding)) {
      Clustering next = run_lloyd(points, start, fixed, options);
      if (!best.labels.defined() || next.inertia < best.inertia) best = std::move(next);
    }
  }
  return best;
}

void check_cluster_count(const Points& points, const KMeansOptions& options) {
  if (options.k < 1 || options.k > points.size()) {
    throw UsageError(
        fmt::format("k: {} clusters of {} rows ({})", options.k, points.size(), points.name()),
        "expected at least 1 and at most the number of rows");
  }
  if (options.starts < 1)
    throw UsageError(fmt::format("starts: {} is not allowed, expected at least 1", options.starts));
}

}  // namespace protogcd
