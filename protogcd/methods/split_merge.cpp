#include "protogcd/methods/split_merge.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "protogcd/cluster/kmeans.h"
#include "protogcd/core/error.h"

namespace protogcd {
namespace {

/// ln of the multivariate gamma function, but for its constant.
double log_gamma(double x, std::int64_t dimension) {
  double sum = 0;
  for (std::int64_t j = 0; j < dimension; ++j) sum += std::lgamma(x - 0.5 * static_cast<double>(j));
  return sum;
}

/// ln |scale I + A^T A| for A [M, D], by the smaller of the two products.
double log_determinant(const at::Tensor& a, double scale) {
  const std::int64_t rows = a.size(0), dimension = a.size(1);
  const at::Tensor product = rows < dimension ? at::matmul(a, a.t()) : at::matmul(a.t(), a);
  const at::Tensor lower =
      std::get<0>(at::linalg_cholesky_ex(product / scale + at::eye(product.size(0), a.options())));
  return 2 * lower.diagonal().log().sum().item<double>() +
         static_cast<double>(dimension) * std::log(scale);
}

at::Tensor rows_where(const at::Tensor& rows, const at::Tensor& mask) {
  return rows.index_select(0, mask.nonzero().squeeze(1));
}

/// ln Gamma(N): the weight of a cluster of N rows, with a concentration of 1.
double log_weight(std::int64_t rows) {
  return std::lgamma(static_cast<double>(rows));
}

/// A change that does not pay is made by chance, for which a number is drawn only then.
void decide(SplitMergeTest& test, const SplitMergeOptions& options,
            const std::function<double()>& draw) {
  test.is_accepted = test.gain > 0;
  if (test.is_accepted) return;
  test.drawn = draw();
  test.is_accepted = options.chance > test.drawn;
}

/// One split and merge of clusters.
class SplitMerge {
 public:
  SplitMerge(const at::Tensor& rows, const at::Tensor& clusters, const at::Tensor& centres,
             const NiwPrior& prior, const SplitMergeOptions& options,
             const std::function<double()>& draw)
      : rows_(rows),
        clusters_(clusters),
        centres_(centres),
        prior_(prior),
        options_(options),
        draw_(draw) {}

  /// The halves' centres, where it is split.
  std::vector<at::Tensor> split(std::int64_t cluster, const at::Tensor& halves,
                                SplitMergeTest& test) const {
    const at::Tensor own = clusters_ == cluster;
    const at::Tensor all = rows_where(rows_, own);
    std::vector<at::Tensor> parts, centres;
    for (const std::int64_t half : {0, 1}) {
      parts.push_back(rows_where(rows_, own.logical_and(halves == half)));
      centres.push_back(prior_.posterior_mean(parts.back()));
    }
    test.first = parts[0].size(0);
    test.second = parts[1].size(0);
    if (std::min(test.first, test.second) <= options_.least || all.size(0) <= options_.least)
      return {};
    test.first_likelihood = prior_.log_likelihood(parts[0], centres[0]);
    test.second_likelihood = prior_.log_likelihood(parts[1], centres[1]);
    test.likelihood = prior_.log_likelihood(all, prior_.posterior_mean(all));
    test.gain = log_weight(test.first) + test.first_likelihood + log_weight(test.second) +
                test.second_likelihood - log_weight(all.size(0)) - test.likelihood;
    decide(test, options_, draw_);
    return test.is_accepted ? centres : std::vector<at::Tensor>();
  }

  SplitMergeTest merge(std::int64_t one, std::int64_t other) const {
    const at::Tensor first = rows_where(rows_, clusters_ == one),
                     second = rows_where(rows_, clusters_ == other);
    SplitMergeTest test{.first = first.size(0), .second = second.size(0)};
    const std::int64_t rows = test.first + test.second;
    test.first_likelihood = prior_.log_likelihood(first, centres_[one]);
    test.second_likelihood = prior_.log_likelihood(second, centres_[other]);
    test.likelihood = prior_.log_likelihood(at::cat({first, second}), mean_of(one, other, test));
    test.gain = log_weight(rows) - log_weight(test.first) - log_weight(test.second) +
                test.likelihood - test.first_likelihood - test.second_likelihood;
    decide(test, options_, draw_);
    return test;
  }

  at::Tensor mean_of(std::int64_t one, std::int64_t other, const SplitMergeTest& test) const {
    return (centres_[one] * test.first + centres_[other] * test.second) /
           static_cast<double>(std::max<std::int64_t>(test.first + test.second, 1));
  }

 private:
  const at::Tensor &rows_, &clusters_, &centres_;
  const NiwPrior& prior_;
  const SplitMergeOptions& options_;
  const std::function<double()>& draw_;
};

/// The nearest of the others, by their centres.
std::int64_t nearest_cluster(const at::Tensor& centres, std::int64_t cluster,
                             const std::vector<std::int64_t>& others) {
  std::int64_t nearest = -1;
  double least = 0;
  for (const std::int64_t other : others) {
    if (other == cluster) continue;
    const double distance = (centres[other] - centres[cluster]).norm().item<double>();
    if (nearest >= 0 && distance >= least) continue;
    nearest = other;
    least = distance;
  }
  return nearest;
}

}  // namespace

at::Tensor NiwPrior::posterior_mean(const at::Tensor& rows) const {
  return (rows.sum(0) + mean * kappa) / (static_cast<double>(rows.size(0)) + kappa);
}

double NiwPrior::log_likelihood(const at::Tensor& rows, const at::Tensor& centre) const {
  const auto count = static_cast<double>(rows.size(0)),
             dimension = static_cast<double>(rows.size(1));
  const double kappa_after = kappa + count, nu_after = nu + count;
  const at::Tensor shift = (centre - mean) * std::sqrt(kappa * count / kappa_after);
  const double determinant = log_determinant(at::cat({rows - centre, shift.unsqueeze(0)}), scale);
  return -count * dimension / 2 * std::log(std::numbers::pi) +
         log_gamma(nu_after / 2, rows.size(1)) - log_gamma(nu / 2, rows.size(1)) +
         nu / 2 * dimension * std::log(scale) - nu_after / 2 * determinant +
         dimension / 2 * (std::log(kappa) - std::log(kappa_after));
}

SplitMergeStep split_and_merge(const at::Tensor& rows, const at::Tensor& clusters,
                               const at::Tensor& centres, const at::Tensor& halves,
                               std::int64_t k_old, const NiwPrior& prior,
                               const SplitMergeOptions& options,
                               const std::function<double()>& draw, const StopToken& stop) {
  const auto check_stop = [&] {
    if (stop.stop_requested())
      throw InterruptedError("stopped while clusters were split and merged");
  };
  const SplitMerge change(rows, clusters, centres, prior, options, draw);
  SplitMergeStep step;
  const std::int64_t k = centres.size(0);
  std::vector<at::Tensor> halved, merged;
  std::vector<std::int64_t> whole;  // new clusters that were not split
  for (std::int64_t cluster = k_old; cluster < k; ++cluster) {
    check_stop();
    step.splits.emplace_back();
    const auto parts = change.split(cluster, halves, step.splits.back());
    halved.insert(halved.end(), parts.begin(), parts.end());
    if (parts.empty()) whole.push_back(cluster);
  }
  std::vector<bool> is_gone(static_cast<std::size_t>(k), false);
  for (const std::int64_t cluster : whole) {
    check_stop();
    const std::int64_t other = nearest_cluster(centres, cluster, whole);
    const auto gone = [&](std::int64_t c) { return is_gone[static_cast<std::size_t>(c)]; };
    if (other < 0 || (!options.keeps_merged && (gone(cluster) || gone(other)))) continue;
    step.pairs.emplace_back(cluster, other);
    step.merges.push_back(change.merge(cluster, other));
    if (!step.merges.back().is_accepted) continue;
    merged.push_back(options.keeps_merged ? (centres[cluster] + centres[other]) / 2
                                          : change.mean_of(cluster, other, step.merges.back()));
    if (options.keeps_merged) continue;
    is_gone[static_cast<std::size_t>(cluster)] = is_gone[static_cast<std::size_t>(other)] = true;
  }
  std::vector<at::Tensor> result;
  for (std::int64_t cluster = 0; cluster < k_old; ++cluster) result.push_back(centres[cluster]);
  for (const std::int64_t cluster : whole)
    if (!is_gone[static_cast<std::size_t>(cluster)]) result.push_back(centres[cluster]);
  result.insert(result.end(), halved.begin(), halved.end());
  result.insert(result.end(), merged.begin(), merged.end());
  step.centres = at::stack(result);
  return step;
}

at::Tensor halves_of(const at::Tensor& rows, const at::Tensor& clusters, std::int64_t k,
                     std::int64_t k_old, std::uint64_t seed, const StopToken& stop) {
  at::Tensor halves = at::zeros({rows.size(0)}, at::kLong);
  for (std::int64_t cluster = k_old; cluster < k; ++cluster) {
    const at::Tensor places = (clusters == cluster).nonzero().squeeze(1);
    if (places.size(0) < 3) continue;
    const Clustering two = kmeans(Points(rows.index_select(0, places), "features"),
                                  {.k = 2, .seed = seed, .stop = stop});
    halves.index_copy_(0, places, two.labels);
  }
  return halves;
}

at::Tensor nearest_centres(const at::Tensor& rows, const at::Tensor& centres) {
  constexpr int kWithoutProducts = 2;  // whose rounding would tell equal centres apart
  return at::cdist(rows, centres, 2, kWithoutProducts).argmin(1);
}

at::Tensor cluster_spread(const at::Tensor& rows, const at::Tensor& centres,
                          const at::Tensor& assignment) {
  const std::int64_t k = centres.size(0);
  const at::Tensor distances = (rows - centres.index_select(0, assignment)).norm(2, 1);
  const at::Tensor counts = at::bincount(assignment, {}, k).to(at::kDouble);
  const at::Tensor sums =
      at::zeros({k}, at::kDouble).index_add_(0, assignment, distances.to(at::kDouble));
  at::Tensor spread = sums / counts.clamp_min(1) / (counts + 10).log();
  spread = at::where(counts > 1, spread, at::zeros_like(spread));
  spread = at::where(counts == 1, spread.max(), spread);
  spread = spread.clamp(at::quantile(spread, 0.1), at::quantile(spread, 0.9));
  // Where many centres have no row, or rows do not lie apart, some would be 0, and cosines over it.
  const at::Tensor widest = spread.max();
  spread = at::where(spread > 0, spread, at::where(widest > 0, widest, at::ones_like(widest)));
  return spread / spread.mean();
}

}  // namespace protogcd
