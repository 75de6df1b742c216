#include "protogcd/analysis/outlier_scores.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "protogcd/analysis/von_mises_fisher.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"msp",    "mls",  "energy", "proto",
                                                    "margin", "xent", "vmf"};
constexpr double kConfidenceFloor = 1e-6;

/// log sum_k exp(cos_k / temperature)
double log_sum_exp(std::span<const float> cosines, double largest, double temperature) {
  double sum = 0;
  for (const float cosine : cosines)
    sum += std::exp((static_cast<double>(cosine) - largest) / temperature);
  return largest / temperature + std::log(sum);
}

}  // namespace

std::span<const std::string_view> outlier_score_names() {
  return kNames;
}

std::string_view name_of(OutlierScore score) {
  return kNames[static_cast<std::size_t>(score)];
}

OutlierScore find_outlier_score(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    throw UsageError(fmt::format("'{}' is not an outlier score: {}", name, join(kNames, ", ")));
  }
  return static_cast<OutlierScore>(found - kNames.begin());
}

OutlierScorer::OutlierScorer(double temperature, std::span<const double> concentrations,
                             std::int64_t dimension)
    : temperature_(temperature), concentrations_(concentrations.begin(), concentrations.end()) {
  for (const double concentration : concentrations)
    log_normalisers_.push_back(vmf_log_normaliser(concentration, dimension));
}

double OutlierScorer::operator()(OutlierScore score, std::span<const float> cosines) const {
  double first = -std::numeric_limits<double>::infinity(), second = first, sum = 0;
  for (const float value : cosines) {
    const double cosine = value;
    sum += cosine;
    second = std::max(second, std::min(first, cosine));
    first = std::max(first, cosine);
  }
  const auto normaliser = [&] { return log_sum_exp(cosines, first, temperature_); };
  const auto posterior = [&](double cosine) {
    return std::exp(cosine / temperature_ - normaliser());
  };
  switch (score) {
    case OutlierScore::kMsp:
      return -posterior(first);
    case OutlierScore::kMls:
      return -first;
    case OutlierScore::kEnergy:
      return -log_sum_exp(cosines, first, 1);
    case OutlierScore::kPrototype:
      return -posterior(first) / (posterior(second) + kConfidenceFloor);
    case OutlierScore::kMargin:
      return -(posterior(first) - posterior(second));
    case OutlierScore::kUniform:
      return sum / static_cast<double>(cosines.size()) / temperature_ - normaliser();
    case OutlierScore::kVonMises: {
      if (concentrations_.size() != cosines.size()) {
        throw InternalError(fmt::format("{} concentrations for {} classes", concentrations_.size(),
                                        cosines.size()));
      }
      double density = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < cosines.size(); ++k)
        density = std::max(density, log_normalisers_[k] + concentrations_[k] * cosines[k]);
      return -density;
    }
  }
  throw InternalError("an outlier score without a formula");
}

std::vector<double> fit_concentrations(std::span<const std::int32_t> classes,
                                       std::span<const float> cosines, std::int64_t class_count,
                                       std::int64_t dimension) {
  const auto k_count = static_cast<std::size_t>(class_count);
  std::vector<double> sums(k_count), counts(k_count);
  double all = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto k = static_cast<std::size_t>(classes[i]);
    sums[k] += cosines[i];
    ++counts[k];
    all += cosines[i];
  }
  const double shared =
      classes.empty() ? 0 : vmf_concentration(all / static_cast<double>(classes.size()), dimension);
  std::vector<double> concentrations(k_count, shared);
  for (std::size_t k = 0; k < k_count; ++k) {
    if (counts[k] >= 2) concentrations[k] = vmf_concentration(sums[k] / counts[k], dimension);
  }
  return concentrations;
}

}  // namespace protogcd
