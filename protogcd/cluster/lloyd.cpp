#include "protogcd/cluster/lloyd.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <limits>

#include "protogcd/cluster/nearest_centroids.h"
#include "protogcd/core/error.h"

namespace protogcd {

namespace {

constexpr double kStride = 1.8;      // of eager rounds, in units of the way to the mean
constexpr double kLeastGain = 1e-4;  // of the inertia, in an eager round that is not the last

/// How much less the inertia around the means [K, D] is than around the mean of all rows.
double explained(const Points& points, const at::Tensor& means,
                 const std::vector<std::int64_t>& counts) {
  const at::Tensor sizes = at::tensor(at::ArrayRef<std::int64_t>(counts)).to(at::kDouble);  // [K]
  return points.of_first(means.square().sum(1, false, at::kDouble).cpu().dot(sizes).item<double>());
}

/// Eager rounds follow the first one until one of them gains little; one that loses is undone.
class EagerRounds {
 public:
  explicit EagerRounds(const Points& points)
      : points_(points),
        total_(points.mean_variance() * static_cast<double>(points.total() * points.width())) {}

  /// Whether another one follows a round that led to these means; the means to go on from.
  bool go_on(at::Tensor& means, const std::vector<std::int64_t>& counts) {
    if (over_) return false;
    const double now = explained(points_, means, counts);
    over_ = now - before_ <= kLeastGain * (total_ - now);
    if (now < before_) means = best_;
    best_ = means;
    before_ = now;
    return !over_;
  }

 private:
  const Points& points_;
  double total_, before_ = -std::numeric_limits<double>::infinity();
  at::Tensor best_;  ///< [K, D]
  bool over_ = false;
};

/// The numbers of rows of the clusters, of all processes.
std::vector<std::int64_t> sizes_of(const Points& points, const NearestCentroids& nearest) {
  const std::vector<std::int64_t> own = nearest.counts();
  if (!points.shared()) return own;
  const at::Tensor all = points.over_all(at::tensor(at::ArrayRef<std::int64_t>(own)));
  return {all.const_data_ptr<std::int64_t>(), all.const_data_ptr<std::int64_t>() + all.numel()};
}

/// Means of the clusters [K, D], over the rows of all processes; an empty one keeps its centroid.
at::Tensor means_of(const Points& points, const NearestCentroids& nearest,
                    const at::Tensor& centroids, const std::vector<std::int64_t>& sizes) {
  const at::Tensor own = nearest.means(centroids);
  if (!points.shared()) return own;
  const auto column = [&](const std::vector<std::int64_t>& counts) {
    return at::tensor(at::ArrayRef<std::int64_t>(counts))
        .to(own.device(), at::kDouble)
        .unsqueeze(1);
  };
  const at::Tensor sums = points.over_all(own.to(at::kDouble) * column(nearest.counts())),
                   all = column(sizes);
  return at::where(all > 0, sums / all.clamp_min(1), centroids.to(at::kDouble))
      .to(centroids.scalar_type());
}

}  // namespace

// A row is part of its own centroid, which holds it back: where rows are many-dimensional and
// clusters overlap, Lloyd's algorithm creeps and rests early. Eager rounds come first: they judge a
// row by its cluster's mean without it (as Hartigan 1975, but all rows at once, which may fail
// where clusters are small: hence undone) and move centroids beyond the means, which lowers the
// inertia of given clusters for any stride below 2. Plain rounds follow and decide the end.
Clustering run_lloyd(const Points& points, at::Tensor centroids, const at::Tensor& fixed,
                     const KMeansOptions& options) {
  const auto nearest = make_nearest_centroids(points, centroids.size(0), fixed);
  const double tolerance = options.tolerance * points.mean_variance();
  EagerRounds eager_rounds(points);
  std::vector<std::int64_t> sizes;
  std::int64_t iterations = 0;
  bool settled = false, eager = false;
  while (!settled && iterations < options.max_iterations) {
    check_interrupt(points, options.stop);
    const std::int64_t changed = points.over_all(eager ? nearest->assign_eagerly(centroids, sizes)
                                                       : nearest->assign(centroids));
    sizes = sizes_of(points, *nearest);
    const std::int64_t moved = nearest->fill_empty(centroids, sizes);
    at::Tensor next = means_of(points, *nearest, centroids, sizes);
    settled = !eager && changed + moved == 0;
    const double shift =
        points.of_first((next - centroids).square().sum(at::kDouble).item<double>());
    ++iterations;
    const bool rests = !eager && shift <= tolerance;
    const bool strides = eager;  // not after the first round, whose centroids may be single rows
    eager = !rests && iterations + 1 < options.max_iterations && eager_rounds.go_on(next, sizes);
    centroids = eager && strides ? centroids + kStride * (next - centroids) : next;
    if (rests) break;
  }
  if (!settled) nearest->assign(centroids);  // labels are those of the last centroids
  const at::Tensor labels = nearest->labels();
  return {.labels = labels,
          .centroids = centroids + points.mean(),
          .inertia = points.over_all(own_distances(points, centroids, labels).sum().item<double>()),
          .iterations = iterations};
}

Clustering best_start(const Points& points, SeedingOptions seeding, const at::Tensor& fixed,
                      const KMeansOptions& options) {
  seeding.stop = options.stop;
  seeding.plain = options.plain_seeding;
  Clustering best;
  for (seeding.start = 0; seeding.start < options.starts; ++seeding.start) {
    Clustering next = run_lloyd(points, kmeans_plus_plus(points, seeding), fixed, options);
    if (!best.labels.defined() || next.inertia < best.inertia) best = std::move(next);
  }
  return best;
}

void check_cluster_count(const Points& points, const KMeansOptions& options) {
  if (options.k < 1 || options.k > points.total()) {
    throw UsageError(
        fmt::format("k: {} clusters of {} rows ({})", options.k, points.total(), points.name()),
        "expected at least 1 and at most the number of rows");
  }
  if (options.starts < 1)
    throw UsageError(fmt::format("starts: {} is not allowed, expected at least 1", options.starts));
}

}  // namespace protogcd
