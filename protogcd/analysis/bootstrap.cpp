#include "protogcd/analysis/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

/// How many of `trials` succeed: the inverse of the distribution at `uniform`, with its values
/// taken from the most probable one outwards. About sqrt(trials) steps.
std::int64_t binomial(std::int64_t trials, double probability, double uniform) {
  if (trials == 0 || probability <= 0) return 0;
  if (probability >= 1) return trials;
  const auto n = static_cast<double>(trials);
  const double mode = std::floor((n + 1) * probability), odds = probability / (1 - probability);
  const double at_mode =
      std::exp(std::lgamma(n + 1) - std::lgamma(mode + 1) - std::lgamma(n - mode + 1) +
               mode * std::log(probability) + (n - mode) * std::log1p(-probability));
  double above = mode, below = mode, mass_above = at_mode, mass_below = at_mode;
  double left = uniform - at_mode;
  while (left >= 0 && (mass_above > 0 || mass_below > 0)) {
    mass_above *= (n - above) / (above + 1) * odds;  // 0 beyond n
    ++above;
    left -= mass_above;
    if (left < 0) return static_cast<std::int64_t>(above);
    mass_below *= below / (n - below + 1) / odds;  // 0 below 0
    --below;
    left -= mass_below;
    if (left < 0) return static_cast<std::int64_t>(below);
  }
  return static_cast<std::int64_t>(mode);
}

/// Right ones among the samples of a group.
struct GroupCounts {
  std::int64_t right = 0, samples = 0;

  double share() const {
    return samples > 0 ? static_cast<double>(right) / static_cast<double>(samples)
                       : std::numeric_limits<double>::quiet_NaN();
  }
};

/// Between the two nearest of the sorted values.
double quantile(const std::vector<double>& sorted, double at) {
  const double place = at * static_cast<double>(sorted.size() - 1);
  const auto before = static_cast<std::size_t>(place);
  const std::size_t after = std::min(before + 1, sorted.size() - 1);
  return sorted[before] + (place - static_cast<double>(before)) * (sorted[after] - sorted[before]);
}

/// Resamples without any sample of the group say nothing of it.
Interval interval_of(std::vector<double> values, double level) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  const GroupCounts none;
  if (values.empty()) return {.low = none.share(), .high = none.share()};
  std::ranges::sort(values);
  return {.low = quantile(values, (1 - level) / 2), .high = quantile(values, (1 + level) / 2)};
}

}  // namespace

AccuracyIntervals accuracy_intervals(const Confusion& confusion, const ClusterMapping& mapping,
                                     std::int32_t old_classes, const BootstrapOptions& options) {
  GroupCounts of_old, of_new;
  const auto accuracies = class_accuracies(confusion, mapping);
  for (std::size_t c = 0; c < accuracies.size(); ++c) {
    GroupCounts& group = static_cast<std::int64_t>(c) < old_classes ? of_old : of_new;
    group.right += accuracies[c].correct;
    group.samples += accuracies[c].samples;
  }
  const std::int64_t samples = of_old.samples + of_new.samples;
  const double old_share = GroupCounts{.right = of_old.samples, .samples = samples}.share();
  std::vector<double> all, in_old, in_new;
  for (std::int64_t i = 0; i < options.resamples && samples > 0; ++i) {
    RandomStream random({.seed = options.seed,
                         .purpose = RandomPurpose::kRedraw,
                         .position = static_cast<std::uint64_t>(i)});
    GroupCounts old_drawn{.samples = binomial(samples, old_share, random.uniform())};
    GroupCounts new_drawn{.samples = samples - old_drawn.samples};
    if (of_old.samples > 0)
      old_drawn.right = binomial(old_drawn.samples, of_old.share(), random.uniform());
    if (of_new.samples > 0)
      new_drawn.right = binomial(new_drawn.samples, of_new.share(), random.uniform());
    in_old.push_back(old_drawn.share());
    in_new.push_back(new_drawn.share());
    all.push_back(
        GroupCounts{.right = old_drawn.right + new_drawn.right, .samples = samples}.share());
  }
  return {.all = interval_of(std::move(all), options.level),
          .old_classes = interval_of(std::move(in_old), options.level),
          .new_classes = interval_of(std::move(in_new), options.level)};
}

}  // namespace protogcd
