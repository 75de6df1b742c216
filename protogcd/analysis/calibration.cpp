#include "protogcd/analysis/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "protogcd/analysis/bounded_minimum.h"

namespace protogcd {

double calibration_error(std::span<const float> confidence, const std::vector<bool>& right,
                         std::span<const double> weights) {
  constexpr std::size_t kBins = 15;
  std::array<double, kBins> gaps{};  // sum of confidence less that of right ones
  double all = 0;
  for (std::size_t i = 0; i < confidence.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i], value = confidence[i];
    const auto bin = std::min(static_cast<std::size_t>(value * kBins), kBins - 1);
    gaps[bin] += weight * (value - (right[i] ? 1 : 0));
    all += weight;
  }
  double error = 0;
  for (const double gap : gaps) error += std::abs(gap);
  return all > 0 ? error / all : 0;
}

std::vector<float> top_posteriors(std::span<const float> scores, std::size_t classes,
                                  double temperature) {
  std::vector<float> tops;
  for (std::size_t first = 0; first < scores.size(); first += classes) {
    const auto row = scores.subspan(first, classes);
    const double best = *std::ranges::max_element(row);
    double sum = 0;
    for (const float score : row) sum += std::exp((score - best) / temperature);
    tops.push_back(static_cast<float>(1 / sum));
  }
  return tops;
}

double fit_temperature(std::span<const float> scores, std::size_t classes,
                       const std::vector<bool>& right, std::span<const double> weights,
                       double least, double most) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto count = static_cast<double>(right.size());
  double rights = 0;  // as many images as they weigh
  for (std::size_t i = 0; i < right.size(); ++i)
    if (right[i]) rights += count * weights[i] / all;
  const double if_right = (rights + 1) / (rights + 2), if_wrong = 1 / (count - rights + 2);
  const auto loss = [&](double log_temperature) {
    const std::vector<float> tops = top_posteriors(scores, classes, std::exp(log_temperature));
    double sum = 0;
    for (std::size_t i = 0; i < tops.size(); ++i) {
      constexpr double kNearest = 1e-7;  // to certainty
      const double p = std::clamp<double>(tops[i], kNearest, 1 - kNearest);
      const double target = right[i] ? if_right : if_wrong;
      sum -= weights[i] * (target * std::log(p) + (1 - target) * std::log(1 - p));
    }
    return sum / all;
  };
  // The loss may have more than one valley where it is flat at both ends: the deepest of a grid's.
  constexpr int kSteps = 24;
  const double low = std::log(least), step = (std::log(most) - low) / kSteps;
  int best = 0;
  double best_loss = loss(low);
  for (int i = 1; i <= kSteps; ++i) {
    if (const double here = loss(low + i * step); here < best_loss) {
      best = i;
      best_loss = here;
    }
  }
  return std::exp(bounded_minimum(loss, {.low = low + std::max(best - 1, 0) * step,
                                         .high = low + std::min(best + 1, kSteps) * step,
                                         .tolerance = 1e-3}));
}

}  // namespace protogcd
