#include "protogcd/cluster/seeding.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "protogcd/cluster/row_loops.h"
#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr std::int64_t kPool = 64;  // rows drawn at a time: as many as one pass multiplies well

std::int64_t trials_for(std::int64_t k) {
  return 2 + static_cast<std::int64_t>(std::log(static_cast<double>(k)));
}

/// Rows that were drawn by lot, whichever process has them.
class DrawnRows {
 public:
  /// Each is the first row at which the chances [N], added up over all rows in their order, reach
  /// its lot [P] (a share of their sum), or are above it.
  DrawnRows(const Points& points, const at::Tensor& chances, const std::vector<double>& lots,
            bool above)
      : points_(points) {
    const at::Tensor sums = chances.cumsum(0, at::kDouble);  // [N]
    const at::Tensor ends = points.team().all_gather(sums.narrow(0, -1, 1)).cpu().cumsum(0);
    const auto last = ends.size(0) - 1;
    const at::Tensor at_sums = ends[last] * at::tensor(lots);  // [P]
    const at::Tensor owners = at::searchsorted(ends, at_sums, false, above).clamp_max_(last);
    const auto rank = points.team().rank();
    const at::Tensor before =
        rank == 0 ? at::zeros({}, at::kDouble) : ends[rank - 1];  // of the processes before
    numbers_ = at::searchsorted(sums, (at_sums - before).to(sums.device()), false, above)
                   .clamp_max_(points.size() - 1);
    if (points.shared()) mine_ = (owners == rank).to(sums.device(), at::kDouble);
  }

  /// Their numbers of a tensor of rows [N, ...] -> [P, ...], the same in every process.
  at::Tensor of(const at::Tensor& rows) const {
    at::Tensor some = rows.index_select(0, numbers_);
    if (!points_.shared()) return some;
    const at::Tensor mine = some.dim() == 1 ? mine_ : mine_.unsqueeze(1);
    return points_.over_all(some.mul(mine.to(some.scalar_type())));
  }

 private:
  const Points& points_;
  at::Tensor numbers_;  ///< [P] among this process's rows
  at::Tensor mine_;     ///< [P]: 1 where that row is meant, 0 where it is another process's
};

/// The sum over all rows of the smaller of two distances, for every candidate.
std::vector<double> sums_of_minima(const std::vector<at::Tensor>& candidates,
                                   const at::Tensor& closest) {
  std::vector<double> sums;
  if (!closest.is_cpu() || closest.scalar_type() != at::kFloat) {
    for (const at::Tensor& distances : candidates)
      sums.push_back(at::minimum(distances, closest).sum(at::kDouble).item<double>());
    return sums;
  }
  constexpr std::int64_t kRows = 2048;  // summed together whatever the threads, for the same bits
  const std::int64_t count = closest.size(0), blocks = (count + kRows - 1) / kRows;
  const float* before = closest.const_data_ptr<float>();
  std::vector<std::vector<double>> parts(static_cast<std::size_t>(blocks));
  at::parallel_for(0, blocks, 4, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t begin = block * kRows;
      for (const at::Tensor& distances : candidates) {
        const float* after = distances.const_data_ptr<float>();
        parts[static_cast<std::size_t>(block)].push_back(
            sum_of(std::min(kRows, count - begin),
                   [&](std::int64_t i) { return std::min(before[begin + i], after[begin + i]); }));
      }
    }
  });
  sums.resize(candidates.size());
  for (const auto& part : parts)
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += part[c];
  return sums;
}

/// One start. Rows are drawn many at a time, as a pass over all rows costs the same for one as for
/// a dozen; a row that was drawn by the distances of some steps ago is then taken with a chance of
/// its distance now in that of then (distances only shrink), which makes it a draw by those of now.
class Seeding {
 public:
  Seeding(const Points& points, const SeedingOptions& options)
      : points_(points),
        options_(options),
        stream_(RandomKey{.seed = options.seed,
                          .purpose = RandomPurpose::kClustering,
                          .position = static_cast<std::uint64_t>(options.start)}) {
    even_ = options.free.defined() ? options.free.to(points.rows().scalar_type())
                                   : at::ones_like(points.squared_norms());
  }

  at::Tensor run() {
    std::int64_t count = 0;
    if (options_.given.defined()) {
      for (const at::Tensor& some : options_.given.split(kPool))
        bring_closer(distances_to(some).amin(0));
      chosen_.push_back(options_.given);
      count = options_.given.size(0);
    } else {
      step(1, 1);
      ++count;
    }
    for (; count < options_.k; ++count) {
      check_interrupt(points_, options_.stop);
      step(trials_for(options_.k), options_.k - count);
    }
    return at::cat(chosen_);
  }

 private:
  /// [C, D] -> [C, N], none of rows that do not count.
  at::Tensor distances_to(const at::Tensor& centroids) const {
    const at::Tensor distances = points_.squared_distances(centroids);
    return options_.free.defined() ? distances * even_ : distances;
  }

  void bring_closer(const at::Tensor& distances) {
    closest_ = closest_.defined() ? at::minimum(closest_, distances) : distances;
  }

  /// A new pool of rows drawn by these chances [N].
  void draw(const at::Tensor& chances, std::int64_t size) {
    std::vector<double> lots;
    for (std::int64_t i = 0; i < size; ++i) lots.push_back(stream_.uniform());
    pool_.emplace(points_, chances, lots, /*above=*/true);
    rows_ = pool_->of(points_.rows());
    distances_ = distances_to(rows_);
    drawn_by_ = at_pool(chances);
    next_ = 0;
  }

  std::vector<double> at_pool(const at::Tensor& chances) const {
    const at::Tensor some = pool_->of(chances).to(at::kCPU, at::kDouble);
    return {some.const_data_ptr<double>(), some.const_data_ptr<double>() + some.size(0)};
  }

  /// Takes the best of so many rows.
  void step(std::int64_t trials, std::int64_t steps_left) {
    // Where every row coincides with a centroid, any row is as good as another.
    const bool finished = !closest_.defined() || !any_above_zero(closest_);
    const at::Tensor& chances = finished ? even_ : closest_;
    std::vector<double> now = pool_ ? at_pool(chances) : std::vector<double>();
    std::vector<at::Tensor> rows, distances;
    while (std::ssize(rows) < trials) {
      if (next_ == drawn_by_.size()) {
        draw(chances, std::min(kPool, trials * steps_left - std::ssize(rows)));
        now = drawn_by_;
      }
      const std::size_t candidate = next_++;
      if (stream_.uniform() * drawn_by_[candidate] >= now[candidate]) continue;
      rows.push_back(rows_.narrow(0, static_cast<std::int64_t>(candidate), 1));
      distances.push_back(distances_[static_cast<std::int64_t>(candidate)]);
    }
    const std::vector<double> sums =
        closest_.defined() ? over_all(sums_of_minima(distances, closest_)) : std::vector<double>(1);
    const auto best = static_cast<std::size_t>(std::ranges::min_element(sums) - sums.begin());
    chosen_.push_back(rows[best]);
    bring_closer(distances[best]);
  }

  bool any_above_zero(const at::Tensor& own) const {
    return points_.over_all(std::int64_t{own.max().item<double>() > 0 ? 1 : 0}) > 0;
  }

  std::vector<double> over_all(std::vector<double> own) const {
    if (!points_.shared()) return own;
    const at::Tensor all = points_.over_all(at::tensor(own));
    return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel()};
  }

  const Points& points_;
  const SeedingOptions& options_;
  RandomStream stream_;
  at::Tensor even_;     ///< [N]: 1 for rows that count, 0 for others
  at::Tensor closest_;  ///< [N]: squared distance to the nearest centroid; undefined: there is none
  std::optional<DrawnRows> pool_;   ///< those drawn last
  at::Tensor rows_;                 ///< [P, D]
  at::Tensor distances_;            ///< [P, N]: of all rows to these
  std::vector<double> drawn_by_;    ///< [P]: chances by which they were drawn
  std::size_t next_ = 0;            ///< the first of them that has not been used
  std::vector<at::Tensor> chosen_;  ///< [1, D] each, or [G, D] given
};

}  // namespace

void check_interrupt(const Points& points, const StopToken& stop) {
  if (points.over_all(std::int64_t{stop.stop_requested() ? 1 : 0}) > 0)
    throw InterruptedError("interrupted: the clustering was not finished");
}

at::Tensor kmeans_plus_plus(const Points& points, const SeedingOptions& options) {
  if (!options.plain || !options.given.defined()) return Seeding(points, options).run();
  RandomStream stream(RandomKey{.seed = options.seed,
                                .purpose = RandomPurpose::kClustering,
                                .position = static_cast<std::uint64_t>(options.start)});
  std::vector<double> draws(static_cast<std::size_t>(options.k - options.given.size(0)));
  for (double& draw : draws) draw = stream.uniform();
  return plain_kmeans_plus_plus(points, options, draws);
}

at::Tensor plain_kmeans_plus_plus(const Points& points, const SeedingOptions& options,
                                  std::span<const double> draws) {
  std::vector<at::Tensor> chosen = {options.given};
  at::Tensor closest = points.squared_distances(options.given).amin(0).to(at::kDouble);  // [N]
  for (const double draw : draws) {
    check_interrupt(points, options.stop);
    const at::Tensor counted = options.free.defined() ? closest * options.free : closest;
    chosen.push_back(DrawnRows(points, counted, {draw}, /*above=*/false).of(points.rows()));
    closest = at::minimum(closest, points.squared_distances(chosen.back())[0].to(at::kDouble));
  }
  return at::cat(chosen);
}

}  // namespace protogcd
