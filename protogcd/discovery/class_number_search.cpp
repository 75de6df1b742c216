#include "protogcd/discovery/class_number_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace protogcd {
namespace {

constexpr double kWidestInterval = 0.27;  // of k

// Set by the tasks in docs/notes/class-number.md.
constexpr double kSureWidth = 0.1;  // of k: numbers no farther apart are as good as one
constexpr double kNearTies = 3;     // scores within a tolerance divided by this say how sure it is

// Of counting by neighbours. An interval leaves out a tenth on each side; "sure" is a promise that
// the truth is within 10%, and "fairly sure" within 30%, nine times in ten.
constexpr double kTenth = 1.2816, kTwentieth = 1.6449;  // normal quantiles
constexpr double kSureWithin = 1.1, kFairlyWithin = 1.3;

}  // namespace

std::int64_t search_new_classes(
    std::int64_t most_new, const std::function<std::pair<double, double>(std::int64_t k)>& scores) {
  std::int64_t low = 0, high = most_new;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    const auto [left, right] = scores(middle);
    if (left < right) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::vector<std::int64_t> class_number_grid(std::int64_t low, std::int64_t high,
                                            std::int64_t most_steps) {
  const std::int64_t step = (high - low) / most_steps + 1;
  std::vector<std::int64_t> ks;
  for (std::int64_t k = low; k < high; k += step) ks.push_back(k);
  ks.push_back(high);
  return ks;
}

ClassNumberPeak find_peak(const std::vector<std::int64_t>& ks, const std::vector<double>& scores,
                          double tolerance) {
  std::vector<std::size_t> order(ks.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return scores[i]; });
  const std::int64_t best = ks[order[0]];
  const auto share = [&](double of_k) {
    return static_cast<std::int64_t>(of_k * static_cast<double>(best));
  };
  const auto within = [&](std::size_t i, double limit) {
    return scores[i] >= scores[order[0]] - limit;
  };
  ClassNumberPeak peak{.k = best, .low = best, .high = best};
  std::int64_t near_low = best, near_high = best;
  for (const std::size_t i : order) {
    const std::int64_t low = std::min(peak.low, ks[i]), high = std::max(peak.high, ks[i]);
    if (within(i, tolerance) && high - low <= share(kWidestInterval)) {
      peak.low = low;
      peak.high = high;
    }
    if (within(i, tolerance / kNearTies)) {
      near_low = std::min(near_low, ks[i]);
      near_high = std::max(near_high, ks[i]);
    }
  }
  const std::int64_t apart = near_high - near_low;
  if (!std::isfinite(scores[order[0]]) || apart > share(kWidestInterval)) {
    peak.sureness = Sureness::kUnsure;
  } else {
    peak.sureness =
        apart <= std::max<std::int64_t>(1, share(kSureWidth)) ? Sureness::kSure : Sureness::kFairly;
  }
  return peak;
}

ClassNumberPeak likely_numbers(const NeighbourCount& found, std::int64_t k_max) {
  const auto whole = [&](double k) {
    return static_cast<std::int64_t>(
        std::clamp(k, static_cast<double>(found.old_classes), static_cast<double>(k_max)));
  };
  // What is known of sizes is an assumption where labels do not show it, or show that they differ.
  const double fewer = 1 + found.size_doubt, more = 1 + found.size_spread;
  const double margin = std::exp(found.log_margin(kTenth)),
               wide = std::exp(found.log_margin(kTwentieth)) * std::max(fewer, more);
  ClassNumberPeak peak{.k = whole(std::round(found.k)),
                       .low = whole(found.k / margin / fewer),
                       .high = whole(std::ceil(found.k * margin * more))};
  if (found.purity < kNothingSaid) {
    peak.low = found.old_classes;
    peak.high = k_max;
  } else if (found.purity >= kLeastPurity && wide <= kFairlyWithin) {
    peak.sureness = wide <= kSureWithin ? Sureness::kSure : Sureness::kFairly;
  }
  return peak;
}

}  // namespace protogcd
