#include "protogcd/cluster/seeding.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr std::int64_t kColumns = 64;  // candidates of all starts in one product, at most

/// Some starts, side by side.
class Seeding {
 public:
  Seeding(const Points& points, const SeedingOptions& options, std::int64_t first,
          std::int64_t starts)
      : points_(points), options_(options), starts_(starts) {
    for (std::int64_t s = 0; s < starts; ++s) {
      streams_.emplace_back(RandomKey{.seed = options.seed,
                                      .purpose = RandomPurpose::kClustering,
                                      .position = static_cast<std::uint64_t>(first + s)});
    }
    weights_ = options.free.defined() ? options.free.to(points.rows().scalar_type())
                                      : at::ones_like(points.squared_norms());
    closest_ = weights_.repeat({starts, 1});  // the first row is drawn evenly
  }

  std::vector<at::Tensor> run() {
    std::int64_t count = 0;
    if (options_.given.defined()) {
      for (; count < options_.given.size(0); ++count) take_given(options_.given[count]);
    } else {
      add(draw(1));
      ++count;
    }
    const auto trials = 2 + static_cast<std::int64_t>(std::log(static_cast<double>(options_.k)));
    for (; count < options_.k; ++count) add(draw(trials));
    std::vector<at::Tensor> centroids;
    for (std::int64_t s = 0; s < starts_; ++s) {
      std::vector<at::Tensor> parts;
      if (options_.given.defined()) parts.push_back(options_.given);
      for (const at::Tensor& row : chosen_) parts.push_back(row[s].unsqueeze(0));
      centroids.push_back(at::cat(parts));
    }
    return centroids;
  }

 private:
  /// Rows drawn by their distances, [starts, trials].
  at::Tensor draw(std::int64_t trials) {
    const at::Tensor sums = closest_.cumsum(1, at::kDouble);  // [S, N]
    const at::Tensor totals = sums.select(1, -1).to(at::kCPU).contiguous();
    const at::Tensor lots = at::empty({starts_, trials}, at::kDouble);
    auto lot = lots.accessor<double, 2>();
    for (std::int64_t s = 0; s < starts_; ++s) {
      const double total = totals[s].item<double>();
      for (std::int64_t t = 0; t < trials; ++t)
        lot[s][t] = total * streams_[static_cast<std::size_t>(s)].uniform();
    }
    return at::searchsorted(sums, lots.to(sums.device()), false, /*right=*/true)
        .clamp_max_(points_.size() - 1);
  }

  /// Takes the best of the candidates [S, T] of every start.
  void add(const at::Tensor& candidates) {
    const std::int64_t trials = candidates.size(1);
    const at::Tensor list = candidates.flatten();  // [S T]
    const at::Tensor rows = points_.rows().index_select(0, list);
    const at::Tensor distances = distances_to(rows, points_.squared_norms().index_select(0, list))
                                     .view({starts_, trials, points_.size()});
    const at::Tensor closest =
        have_one_ ? at::minimum(distances, closest_.unsqueeze(1)) : distances;  // [S, T, N]
    const at::Tensor best = closest.sum(2, false, at::kDouble).argmin(1);       // [S]
    const at::Tensor starts = at::arange(starts_, best.options());
    closest_ = closest.index({starts, best});
    chosen_.push_back(rows.view({starts_, trials, points_.width()}).index({starts, best}));
    have_one_ = true;
    revive_finished();
  }

  void take_given(const at::Tensor& centroid) {
    const at::Tensor distances =
        distances_to(centroid.unsqueeze(0), centroid.square().sum().unsqueeze(0));  // [1, N]
    closest_ = have_one_ ? at::minimum(closest_, distances) : distances.repeat({starts_, 1});
    have_one_ = true;
    revive_finished();
  }

  /// Squared distances of all rows to these, [C, N]; 0 for rows that do not count.
  at::Tensor distances_to(const at::Tensor& columns, const at::Tensor& norms) const {
    at::Tensor distances = points_.products(columns).t().contiguous();  // [C, N]
    distances.mul_(-2).add_(norms.unsqueeze(1)).add_(points_.squared_norms()).clamp_min_(0);
    return options_.free.defined() ? distances.mul_(weights_) : distances;
  }

  /// Where every row coincides with a centroid, any row is as good as another.
  void revive_finished() {
    const at::Tensor done = closest_.amax(1) <= 0;  // [S]
    if (done.any().item<bool>())
      closest_ = at::where(done.unsqueeze(1), weights_.unsqueeze(0), closest_);
  }

  const Points& points_;
  const SeedingOptions& options_;
  std::int64_t starts_;
  std::vector<RandomStream> streams_;
  at::Tensor weights_;  ///< [N]: 1 for rows that count
  at::Tensor closest_;  ///< [S, N]: squared distance to the nearest centroid
  bool have_one_ = false;
  std::vector<at::Tensor> chosen_;  ///< [S, D] each
};

}  // namespace

std::vector<at::Tensor> kmeans_plus_plus(const Points& points, const SeedingOptions& options) {
  const auto trials = 2 + static_cast<std::int64_t>(std::log(static_cast<double>(options.k)));
  const std::int64_t together = std::max<std::int64_t>(1, kColumns / trials);
  std::vector<at::Tensor> centroids;
  for (std::int64_t first = 0; first < options.starts; first += together) {
    auto more = Seeding(points, options, first, std::min(together, options.starts - first)).run();
    centroids.insert(centroids.end(), more.begin(), more.end());
  }
  return centroids;
}

}  // namespace protogcd
