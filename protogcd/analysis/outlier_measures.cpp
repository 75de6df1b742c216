#include "protogcd/analysis/outlier_measures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

/// How many positives and negatives are at or above each distinct score, from the highest down.
struct Counts {
  std::vector<double> positives, negatives;
};

Counts count_from_above(std::span<const double> positives, std::span<const double> negatives) {
  struct Scored {
    double score;
    bool is_positive;
  };
  std::vector<Scored> all;
  all.reserve(positives.size() + negatives.size());
  for (const double score : positives) all.push_back({score, true});
  for (const double score : negatives) all.push_back({score, false});
  std::ranges::sort(all, std::greater(), &Scored::score);
  Counts counts;
  double above[2] = {0, 0};
  for (std::size_t i = 0; i < all.size(); ++i) {
    ++above[all[i].is_positive ? 1 : 0];
    if (i + 1 < all.size() && all[i + 1].score == all[i].score) continue;
    counts.positives.push_back(above[1]);
    counts.negatives.push_back(above[0]);
  }
  return counts;
}

struct OneSided {
  double auroc, aupr, fpr95;
};

OneSided measure(std::span<const double> positives, std::span<const double> negatives) {
  const Counts counts = count_from_above(positives, negatives);
  const auto p = static_cast<double>(positives.size()), n = static_cast<double>(negatives.size());
  OneSided result{0, 0, 0};
  double before_p = 0, before_n = 0, nearest = 2;
  for (std::size_t i = 0; i < counts.positives.size(); ++i) {
    const double tp = counts.positives[i], fp = counts.negatives[i];
    result.auroc += (fp - before_n) * (tp + before_p) / 2;  // trapezoids: ties count half
    result.aupr += (tp - before_p) / p * (tp / (tp + fp));
    // The recall nearest to 95%; among equally near ones the lowest threshold. Thresholds below
    // the last positive only add negatives.
    const double distance = std::abs(tp / p - 0.95);
    if (before_p < p && distance <= nearest) {
      nearest = distance;
      result.fpr95 = fp / n;
    }
    before_p = tp;
    before_n = fp;
  }
  result.auroc /= p * n;
  return result;
}

void check_scores(std::span<const double> scores, const char* what) {
  if (scores.empty()) throw DataError(fmt::format("there are no {} to measure", what));
  if (std::ranges::any_of(scores, [](double score) { return std::isnan(score); }))
    throw DataError(fmt::format("a score of the {} is not a number", what));
}

std::vector<double> negated(std::span<const double> scores) {
  std::vector<double> result(scores.begin(), scores.end());
  for (double& score : result) score = -score;
  return result;
}

std::vector<double> draw(std::span<const double> scores, std::size_t count, RandomStream& stream) {
  std::vector<double> part(scores.begin(), scores.end());
  if (count >= part.size()) return part;
  shuffle(std::span(part), stream);
  part.resize(count);
  return part;
}

/// Outliers and inliers of a repeat.
struct SampleSizes {
  std::size_t inside, outside;
};

SampleSizes sizes_of(OutlierSampling sampling, std::size_t inside, std::size_t outside) {
  constexpr std::size_t kBatch = 128;
  switch (sampling) {
    case OutlierSampling::kAll:
      break;
    case OutlierSampling::kBalanced:
      return {std::min(inside, outside), std::min(inside, outside)};
    case OutlierSampling::kReference:
      if (inside / 5 < kBatch) {
        throw DataError(
            fmt::format("the released code's sampling needs at least {} images of known classes, "
                        "and there are {}",
                        5 * kBatch, inside),
            fmt::format("use {} all or balanced", option_name("sampling")));
      }
      return {inside, std::min(inside / 5 / kBatch * kBatch, outside)};
  }
  return {inside, outside};
}

constexpr double OutlierMeasures::*kFields[] = {
    &OutlierMeasures::auroc, &OutlierMeasures::fpr95_in, &OutlierMeasures::aupr_in,
    &OutlierMeasures::fpr95_out, &OutlierMeasures::aupr_out};

}  // namespace

OutlierMeasures measure_outliers(std::span<const double> inside, std::span<const double> outside) {
  check_scores(inside, "images of known classes");
  check_scores(outside, "outliers");
  const OneSided in = measure(negated(inside), negated(outside));
  const OneSided out = measure(outside, inside);
  return {.auroc = in.auroc,
          .fpr95_in = in.fpr95,
          .aupr_in = in.aupr,
          .fpr95_out = out.fpr95,
          .aupr_out = out.aupr};
}

SampledMeasures measure_sampled(std::span<const double> inside, std::span<const double> outside,
                                OutlierSampling sampling, std::int64_t repeats,
                                std::uint64_t seed) {
  check_scores(inside, "images of known classes");
  check_scores(outside, "outliers");
  const SampleSizes sizes = sizes_of(sampling, inside.size(), outside.size());
  const bool draws = sizes.inside < inside.size() || sizes.outside < outside.size();
  SampledMeasures result{.inside = sizes.inside,
                         .outside = sizes.outside,
                         .repeats = draws ? std::max<std::int64_t>(repeats, 1) : 1};
  std::vector<OutlierMeasures> all;
  for (std::int64_t repeat = 0; repeat < result.repeats; ++repeat) {
    RandomStream stream({.seed = seed,
                         .purpose = RandomPurpose::kShuffle,
                         .position = static_cast<std::uint64_t>(repeat)});
    const auto part = draw(inside, sizes.inside, stream);
    all.push_back(measure_outliers(part, draw(outside, sizes.outside, stream)));
  }
  const auto count = static_cast<double>(all.size());
  for (const auto field : kFields) {
    double sum = 0, squares = 0;
    for (const OutlierMeasures& one : all) sum += one.*field;
    for (const OutlierMeasures& one : all) squares += std::pow(one.*field - sum / count, 2);
    result.mean.*field = sum / count;
    result.deviation.*field = std::sqrt(squares / count);
  }
  return result;
}

double threshold_keeping(std::vector<double> scores, double share) {
  check_scores(scores, "images of known classes");
  const auto kept =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(scores.size()) - 1e-9));
  const auto nth = scores.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(kept, 1) - 1);
  std::ranges::nth_element(scores, nth);
  return *nth;
}

}  // namespace protogcd
