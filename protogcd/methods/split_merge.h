// GPC's clusters (Zhao et al., ICCV 2023): new clusters are split and merged where the marginal
// likelihood of Gaussians with a normal-inverse-Wishart prior says so. All of it in float64 on the
// CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "protogcd/core/stop.h"

namespace protogcd {

/// A Gaussian's mean is drawn around `mean` with its covariance over kappa, the covariance from the
/// inverse Wishart distribution with nu degrees of freedom around `scale` times the identity.
struct NiwPrior {
  at::Tensor mean;  ///< [D]
  double scale = 0.005, kappa = 1e-4;
  double nu = 0;  ///< above D - 1

  /// (N mean of the rows + kappa prior mean) / (N + kappa). rows [N, D] -> [D]
  at::Tensor posterior_mean(const at::Tensor& rows) const;
  /// ln p(rows), as the release has it: the scatter is around `centre` [D], not around their mean.
  double log_likelihood(const at::Tensor& rows, const at::Tensor& centre) const;
};

struct SplitMergeOptions {
  double chance = 0.1;     ///< that a change which does not pay is made nevertheless
  std::int64_t least = 5;  ///< a cluster or half of so many rows is not split
  /// As released: merged clusters stay, the mean of the two is added, and for a pair that chose
  /// each other twice.
  bool keeps_merged = false;
};

/// How one change was judged: it pays where `gain` is above 0.
struct SplitMergeTest {
  std::int64_t first = 0, second = 0;  ///< rows of the two halves, or of the two clusters
  double first_likelihood = 0, second_likelihood = 0, likelihood = 0, gain = 0;
  double drawn = -1;  ///< in [0, 1), only where it does not pay
  bool is_accepted = false;
};

struct SplitMergeStep {
  /// [K', D]: clusters that stay in their order, halves of split ones, then merged ones.
  at::Tensor centres;
  std::vector<SplitMergeTest> splits;  ///< of clusters k_old, k_old + 1, ...
  std::vector<SplitMergeTest> merges;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  ///< that `merges` are of
};

/// rows [N, D]; clusters [N] int64 with their centres [K, D], the first k_old of them fixed; halves
/// [N]: 0 or 1, in which half of its cluster a row is. `draw`: a uniform number in [0, 1). Asked to
/// stop, it throws InterruptedError, as does the next one.
SplitMergeStep split_and_merge(const at::Tensor& rows, const at::Tensor& clusters,
                               const at::Tensor& centres, const at::Tensor& halves,
                               std::int64_t k_old, const NiwPrior& prior,
                               const SplitMergeOptions& options,
                               const std::function<double()>& draw, const StopToken& stop = {});

/// Each cluster from k_old on cut in two by k-means, those of fewer than three rows not: [N] int64,
/// 0 or 1.
at::Tensor halves_of(const at::Tensor& rows, const at::Tensor& clusters, std::int64_t k,
                     std::int64_t k_old, std::uint64_t seed, const StopToken& stop = {});

/// The nearest centre of each row, the first of equal ones: [N] int64.
at::Tensor nearest_centres(const at::Tensor& rows, const at::Tensor& centres);

/// How widely each centre's rows lie around it: their mean distance over ln(n + 10), the widest for
/// one row, within the 10th and 90th percentile, never 0, with mean 1. assignment [N] int64 -> [K]
at::Tensor cluster_spread(const at::Tensor& rows, const at::Tensor& centres,
                          const at::Tensor& assignment);

}  // namespace protogcd
