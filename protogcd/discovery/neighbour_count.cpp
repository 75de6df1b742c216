#include "protogcd/discovery/neighbour_count.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "protogcd/cluster/points.h"
#include "protogcd/core/error.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

/// The answer is the mean over these: few neighbours are purer, many are less noisy.
constexpr std::int64_t kNeighbourCounts[] = {1, 2, 4, 8, 16};
constexpr std::size_t kCounts = std::size(kNeighbourCounts);
constexpr std::int64_t kMostQueries = 8192, kQueriesAtOnce = 512;
/// Where no neighbour is of the same class, or none is labelled, shares end here.
constexpr double kPurityFloor = 0.02, kLeastLabelledShare = 1e-6;
/// Counts of labels whose variance is so small a part of what chance would make were not left to
/// chance.
constexpr double kEvenLabels = 0.25;
/// Errors on 158 development tasks were so much larger than leaving out classes says.
constexpr double kErrorFactor = 1.2;

/// Directions of large variance say little of classes: all get about the same, but for those that
/// are hardly there. Unit rows [N, D].
at::Tensor whitened(const at::Tensor& features) {
  const Points points(features);  // refuses what is no number
  const at::Tensor& rows = points.rows();
  const auto [values, directions] =
      at::linalg_eigh(rows.t().matmul(rows) / static_cast<double>(rows.size(0)));
  const at::Tensor scale = (values.clamp_min(0) + values.mean().clamp_min(1e-12)).rsqrt();
  return unit_rows(rows.matmul(directions * scale));
}

/// Of the labelled images of one class that were looked at: shares of neighbours, added up.
struct ClassSums {
  double images = 0, labels = 0;
  double same[kCounts] = {}, other[kCounts] = {};

  void add(const ClassSums& more) {
    images += more.images;
    for (std::size_t i = 0; i < kCounts; ++i) {
      same[i] += more.same[i];
      other[i] += more.other[i];
    }
  }
};

double variance_of(const std::vector<double>& values) {
  double mean = 0, variance = 0;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) mean += value / count;
  for (const double value : values) variance += (value - mean) * (value - mean) / count;
  return variance;
}

struct Shares {
  double labelled = 0, purity = 0;
};

/// The equations of the header, for one number of neighbours; w labelled images of a class on
/// average, as labelled images see it.
Shares solve(double a, double b, double w, double labelled, double all) {
  const double others = std::max(labelled - w, 1.0);
  const double purity = std::max(1 - b * all / others, kPurityFloor);
  return {.labelled = std::clamp((a - b * w / others) / purity, kLeastLabelledShare, 1.0),
          .purity = purity};
}

/// All that is counted of neighbours, by class.
class Census {
 public:
  Census(const at::Tensor& labelled, const at::Tensor& labels, const at::Tensor& unlabelled,
         const StopToken& stop);

  bool says_something() const {
    return classes_.size() >= 2 &&
           std::ranges::any_of(classes_, [](const ClassSums& c) { return c.labels > 1; });
  }
  NeighbourCount count() const;

 private:
  struct Pooled {
    double log_k = 0, labelled_share = 0, purity = 0;
  };
  void count_neighbours(const at::Tensor& features, const at::Tensor& labels,
                        const StopToken& stop);
  Pooled without(std::size_t left_out) const;
  double variance_of_shares() const;
  double spread_of_sizes(double labelled_share) const;
  double mean_labels() const { return labelled_ / static_cast<double>(classes_.size()); }
  std::vector<double> numbers_of_labels() const {
    std::vector<double> numbers;
    for (const ClassSums& c : classes_) numbers.push_back(c.labels);
    return numbers;
  }

  std::vector<ClassSums> classes_;
  double all_ = 0, labelled_ = 0;
  bool even_labels_ = false;
};

constexpr auto kNone = static_cast<std::size_t>(-1);

Census::Census(const at::Tensor& labelled, const at::Tensor& labels, const at::Tensor& unlabelled,
               const StopToken& stop)
    : all_(static_cast<double>(labelled.size(0) + unlabelled.size(0))),
      labelled_(static_cast<double>(labelled.size(0))) {
  if (labels.numel() == 0) return;
  classes_.resize(static_cast<std::size_t>(labels.max().item<std::int64_t>()) + 1);
  const auto* label = labels.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < labels.numel(); ++i)
    ++classes_[static_cast<std::size_t>(label[i])].labels;
  if (!says_something()) return;
  count_neighbours(whitened(at::cat({labelled, unlabelled})), labels, stop);
  even_labels_ = variance_of(numbers_of_labels()) / mean_labels() <
                 kEvenLabels * (1 - without(kNone).labelled_share);
}

void Census::count_neighbours(const at::Tensor& features, const at::Tensor& labels,
                              const StopToken& stop) {
  const std::int64_t step = (labels.numel() + kMostQueries - 1) / kMostQueries;
  const at::Tensor queries = at::arange(0, labels.numel(), step);
  const std::int64_t most = std::min(kNeighbourCounts[kCounts - 1], features.size(0) - 1);
  const auto* label = labels.const_data_ptr<std::int64_t>();
  for (const at::Tensor& some : queries.split(kQueriesAtOnce)) {
    if (stop.stop_requested()) throw InterruptedError("stopped while neighbours were counted");
    at::Tensor cosines = features.index_select(0, some).matmul(features.t());
    cosines.scatter_(1, some.unsqueeze(1), -2);  // an image is not its own neighbour
    const at::Tensor nearest = std::get<1>(cosines.topk(most, 1)).contiguous();
    for (std::int64_t q = 0; q < some.numel(); ++q) {
      const std::int64_t own = label[some[q].item<std::int64_t>()];
      ClassSums& sums = classes_[static_cast<std::size_t>(own)];
      const std::int64_t* neighbour = nearest.const_data_ptr<std::int64_t>() + q * most;
      double same = 0, other = 0;
      std::int64_t seen = 0;
      for (std::size_t i = 0; i < kCounts; ++i) {
        for (; seen < std::min(kNeighbourCounts[i], most); ++seen) {
          if (neighbour[seen] >= labels.numel()) continue;
          ++(label[neighbour[seen]] == own ? same : other);
        }
        sums.same[i] += same / static_cast<double>(seen);
        sums.other[i] += other / static_cast<double>(seen);
      }
      ++sums.images;
    }
  }
}

/// The answer of all old classes but one.
Census::Pooled Census::without(std::size_t left_out) const {
  ClassSums sums;
  double weighted = 0, labels = 0, old = 0;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (c == left_out) continue;
    sums.add(classes_[c]);
    weighted += classes_[c].images * classes_[c].labels;
    labels += classes_[c].labels;
    ++old;
  }
  const double mean = labels / old, images = std::max(sums.images, 1.0);
  Pooled pooled;
  for (std::size_t i = 0; i < kCounts; ++i) {
    const Shares shares =
        solve(sums.same[i] / images, sums.other[i] / images, weighted / images, labelled_, all_);
    // Of labels that fell by chance, a labelled image sees as many as any other; of a fixed number
    // of them, one less.
    const double size = even_labels_ ? 1 + (mean - 1) / shares.labelled : mean / shares.labelled;
    pooled.log_k += std::log(all_ / size) / kCounts;
    pooled.labelled_share += shares.labelled / kCounts;
    pooled.purity += shares.purity / kCounts;
  }
  return pooled;
}

/// Of log rho, each class by itself, beyond what chance makes of the labelled neighbours it has:
/// pairs of images, each seen from both ends.
double Census::variance_of_shares() const {
  const double least = without(kNone).labelled_share / 10;  // the logarithm of none has no end
  std::vector<double> logarithms;
  double by_chance = 0;
  for (const ClassSums& c : classes_) {
    if (c.images == 0) continue;
    double share = 0;
    for (std::size_t i = 0; i < kCounts; ++i) {
      share +=
          solve(c.same[i] / c.images, c.other[i] / c.images, c.labels, labelled_, all_).labelled /
          kCounts;
    }
    logarithms.push_back(std::log(std::max(share, least)));
    by_chance += 2 / std::max(kNeighbourCounts[kCounts - 1] * c.same[kCounts - 1], 1.0);
  }
  return std::max(variance_of(logarithms) - by_chance / static_cast<double>(logarithms.size()),
                  0.0);
}

/// Of labels that fell by chance the variance is known; what is well beyond it comes from sizes.
double Census::spread_of_sizes(double labelled_share) const {
  const double mean = mean_labels(), by_chance = (1 - labelled_share) / mean,
               deviation = by_chance * std::sqrt(2 / (static_cast<double>(classes_.size()) - 1)),
               excess = variance_of(numbers_of_labels()) / (mean * mean) - by_chance;
  return excess > 2 * deviation ? std::sqrt(excess) : 0;
}

NeighbourCount Census::count() const {
  const Pooled all = without(kNone);
  const auto old = static_cast<double>(classes_.size());
  std::vector<double> others;
  for (std::size_t c = 0; c < classes_.size(); ++c) others.push_back(without(c).log_k);
  NeighbourCount count{.k = std::max(std::exp(all.log_k), old),
                       .purity = all.purity,
                       .labelled_share = all.labelled_share,
                       .class_size = all_ / std::exp(all.log_k),
                       .size_doubt = even_labels_ ? variance_of_shares() : 0,
                       .size_spread = spread_of_sizes(all.labelled_share),
                       .old_classes = static_cast<std::int64_t>(classes_.size())};
  // The sizes of the new classes are another draw from what the old ones are drawn from.
  const double fresh = std::max(count.k - old, 1.0),
               by_size = count.size_spread * (count.k - old) / count.k;
  count.log_error =
      kErrorFactor * std::sqrt((old - 1) * variance_of(others) + by_size * by_size / fresh);
  return count;
}

}  // namespace

/// Student's quantile by the first terms of its expansion: few old classes know their spread badly.
double NeighbourCount::log_margin(double z) const {
  const auto freedom = static_cast<double>(std::max<std::int64_t>(old_classes - 1, 1));
  const double quantile = z + (z * z * z + z) / (4 * freedom) +
                          (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * freedom * freedom);
  return quantile * log_error;
}

std::optional<NeighbourCount> count_by_neighbours(const at::Tensor& labelled,
                                                  const at::Tensor& labels,
                                                  const at::Tensor& unlabelled,
                                                  const StopToken& stop) {
  const Census census(labelled, labels, unlabelled, stop);
  if (!census.says_something()) return std::nullopt;
  return census.count();
}

}  // namespace protogcd
