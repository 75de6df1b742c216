#include "protogcd/cluster/seeding.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr std::int64_t kColumns = 64;  // candidates of all starts in one product, at most

std::int64_t trials_for(std::int64_t k) {
  return 2 + static_cast<std::int64_t>(std::log(static_cast<double>(k)));
}

/// Some starts, side by side.
class Seeding {
 public:
  Seeding(const Points& points, const SeedingOptions& options)
      : points_(points), options_(options), starts_(options.starts) {
    for (std::int64_t s = 0; s < starts_; ++s) {
      streams_.emplace_back(
          RandomKey{.seed = options.seed,
                    .purpose = RandomPurpose::kClustering,
                    .position = static_cast<std::uint64_t>(options.first_start + s)});
    }
    weights_ = options.free.defined() ? options.free.to(points.rows().scalar_type())
                                      : at::ones_like(points.squared_norms());
    closest_ = weights_.repeat({starts_, 1});  // the first row is drawn evenly
  }

  std::vector<at::Tensor> run() {
    std::int64_t count = 0;
    if (options_.given.defined()) {
      for (; count < options_.given.size(0); ++count) take_given(options_.given[count]);
    } else {
      add(draw(1));
      ++count;
    }
    for (; count < options_.k; ++count) {
      check_interrupt(options_.interrupt);
      add(draw(trials_for(options_.k)));
    }
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
    const Candidates found =
        judged(points_.products(rows), points_.squared_norms().index_select(0, list));
    const at::Tensor best = found.sums.view({starts_, trials}).argmin(1);  // [S]
    const at::Tensor starts = at::arange(starts_, best.options());
    closest_ = found.closest.view({starts_, trials, points_.size()}).index({starts, best});
    chosen_.push_back(rows.view({starts_, trials, points_.width()}).index({starts, best}));
    have_one_ = true;
    revive_finished();
  }

  void take_given(const at::Tensor& centroid) {
    closest_ = judged(points_.products(centroid.unsqueeze(0)).expand({-1, starts_}),
                      centroid.square().sum().expand({starts_}))
                   .closest;
    have_one_ = true;
    revive_finished();
  }

  struct Candidates {
    at::Tensor closest;  ///< [C, N]: squared distances to the nearest centroid, were it taken
    at::Tensor sums;     ///< [C] float64, over all rows
  };

  /// products [N, C] of all rows with the candidates, C / S for each start, and the candidates'
  /// squared norms [C].
  Candidates judged(const at::Tensor& products, const at::Tensor& norms) const {
    if (products.is_cpu() && products.scalar_type() == at::kFloat)
      return judged_fast(products, norms);
    at::Tensor closest = products.t().contiguous();  // [C, N]
    closest.mul_(-2).add_(norms.unsqueeze(1)).add_(points_.squared_norms()).clamp_min_(0);
    if (options_.free.defined()) closest.mul_(weights_);
    if (have_one_)
      closest = at::minimum(closest, closest_.repeat_interleave(norms.size(0) / starts_, 0));
    return {closest, closest.sum(1, false, at::kDouble)};
  }

  /// The same in one pass instead of ten: they took as long as the products.
  Candidates judged_fast(const at::Tensor& products, const at::Tensor& norms) const {
    constexpr std::int64_t kRows = 2048;  // summed together whatever the threads, for the same bits
    const std::int64_t count = points_.size(), candidates = norms.size(0),
                       trials = candidates / starts_, blocks = (count + kRows - 1) / kRows;
    at::Tensor closest = at::empty({candidates, count}, at::kFloat);
    at::Tensor sums = at::empty({blocks, candidates}, at::kDouble);
    const auto product = products.accessor<float, 2>();
    const auto norm = norms.accessor<float, 1>();
    const auto own = points_.squared_norms().accessor<float, 1>(),
               weight = weights_.accessor<float, 1>();
    const auto before = closest_.accessor<float, 2>();
    auto after = closest.accessor<float, 2>();
    auto sum = sums.accessor<double, 2>();
    at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block) {
        const std::int64_t begin = block * kRows, end = std::min(begin + kRows, count);
        for (std::int64_t c = 0; c < candidates; ++c) {
          double total = 0;
          for (std::int64_t i = begin; i < end; ++i) {
            float distance = std::max(norm[c] + own[i] - 2 * product[i][c], 0.0F) * weight[i];
            if (have_one_) distance = std::min(distance, before[c / trials][i]);
            after[c][i] = distance;
            total += distance;
          }
          sum[block][c] = total;
        }
      }
    });
    return {closest, sums.sum(0)};
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

void check_interrupt(const InterruptGuard* interrupt) {
  if (interrupt != nullptr && interrupt->interrupted())
    throw InterruptedError("interrupted: the clustering was not finished");
}

std::int64_t starts_together(std::int64_t k) {
  return std::max<std::int64_t>(1, kColumns / trials_for(k));
}

std::vector<at::Tensor> kmeans_plus_plus(const Points& points, const SeedingOptions& options) {
  return Seeding(points, options).run();
}

}  // namespace protogcd
