#include "protogcd/discovery/label_errors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace protogcd {
namespace {

// Set by the demo collection and AID; how others fare: docs/findings.md.
constexpr double kClearMargin = 0.3;
constexpr double kRidge = 0.2;  // of the mean variance of a feature
constexpr std::int64_t kLeastOfClass = 10;
constexpr std::int64_t kFeaturesAtOnce = 2048;

/// A ridge regression of one-hot labels, its constant term not held back.
struct Fit {
  at::Tensor rows;     ///< features without their mean, and a one: [N, D + 1]
  at::Tensor inverse;  ///< of rows' products, [D + 1, D + 1]
  at::Tensor weights;  ///< [D + 1, C]
};

Fit fit_labels(const at::Tensor& features, const at::Tensor& labels, std::int64_t classes) {
  Fit fit;
  const std::int64_t count = features.size(0), width = features.size(1);
  fit.rows = at::cat({features - features.mean(0), at::ones({count, 1}, features.options())}, 1);
  at::Tensor products = at::matmul(fit.rows.t(), fit.rows).to(at::kDouble);
  at::Tensor diagonal = products.diagonal();
  const double mean = diagonal.slice(0, 0, width).mean().item<double>();
  diagonal.slice(0, 0, width) += kRidge * std::max(mean, 1e-12);
  fit.inverse = at::inverse(products).to(at::kFloat);
  const at::Tensor sums =
      at::zeros({classes, width + 1}, at::kFloat).index_add_(0, labels, fit.rows);
  fit.weights = at::matmul(fit.inverse, sums.t());
  return fit;
}

/// Scores of the images that stand for each other's, as if none of them had been in the fit: with
/// H their part of the fit's projection and Y their labels, Y - (I - H)^-1 (Y - fitted).
at::Tensor scores_without(const Fit& fit, const at::Tensor& images, const at::Tensor& labels) {
  const at::Tensor rows = fit.rows.index_select(0, images),
                   own = at::one_hot(labels.index_select(0, images), fit.weights.size(1))
                             .to(at::kFloat);
  const at::Tensor projection = at::matmul(at::matmul(rows, fit.inverse), rows.t());
  const at::Tensor left = at::eye(images.size(0), at::kFloat) - projection;
  return own - at::linalg_solve(left, own - at::matmul(rows, fit.weights));
}

/// The same for each image of [begin, end) by itself.
at::Tensor scores_one_by_one(const Fit& fit, std::int64_t begin, std::int64_t end,
                             const at::Tensor& labels) {
  const at::Tensor rows = fit.rows.slice(0, begin, end),
                   own =
                       at::one_hot(labels.slice(0, begin, end), fit.weights.size(1)).to(at::kFloat);
  const at::Tensor left = 1 - (at::matmul(rows, fit.inverse) * rows).sum(1, /*keepdim=*/true);
  return own - (own - at::matmul(rows, fit.weights)) / left.clamp_min(1e-6);
}

/// Where another class clearly scores higher than the given one.
struct Judgement {
  bool is_recognised = false;
  LabelError error;
};

Judgement judge(const at::TensorAccessor<float, 1>& score, std::int64_t image, std::int64_t given) {
  std::int64_t other = given == 0 ? 1 : 0;
  for (std::int64_t k = 0; k < score.size(0); ++k)
    if (k != given && score[k] > score[other]) other = k;
  const double margin = double{score[other]} - double{score[given]};
  return {.is_recognised = margin < 0,
          .error = {.image = image, .looks_like = other, .margin = margin}};
}

/// Of the images that are in groups of several.
std::map<std::int64_t, at::Tensor> scores_of_groups(const Fit& fit, const at::Tensor& labels,
                                                    const std::vector<std::int64_t>& groups) {
  std::map<std::int64_t, std::vector<std::int64_t>> members;
  for (std::size_t i = 0; i < groups.size(); ++i)
    members[groups[i]].push_back(static_cast<std::int64_t>(i));
  std::map<std::int64_t, at::Tensor> scores;
  for (const auto& [group, images] : members) {
    if (images.size() < 2) continue;
    const at::Tensor rows =
        scores_without(fit, at::tensor(at::ArrayRef<std::int64_t>(images)), labels);
    for (std::size_t i = 0; i < images.size(); ++i)
      scores[images[i]] = rows[static_cast<std::int64_t>(i)];
  }
  return scores;
}

}  // namespace

LabelCheck check_labels(const at::Tensor& features, const std::vector<std::int64_t>& labels,
                        const std::vector<std::int64_t>& groups) {
  std::map<std::int64_t, std::int64_t> sizes;
  for (const std::int64_t label : labels) ++sizes[label];
  LabelCheck check{.errors = {}, .accuracy = std::numeric_limits<double>::quiet_NaN()};
  const bool one_picture = std::ranges::adjacent_find(groups, std::not_equal_to()) == groups.end();
  if (sizes.size() < 2 || one_picture) return check;  // without its group nothing would be left
  const at::Tensor of_images = at::tensor(at::ArrayRef<std::int64_t>(labels));
  const Fit fit = fit_labels(features, of_images, sizes.rbegin()->first + 1);
  const auto of_groups = scores_of_groups(fit, of_images, groups);
  const std::int64_t count = features.size(0);
  std::int64_t recognised = 0;
  for (std::int64_t begin = 0; begin < count; begin += kFeaturesAtOnce) {
    const std::int64_t end = std::min(count, begin + kFeaturesAtOnce);
    at::Tensor scores = scores_one_by_one(fit, begin, end, of_images);
    for (auto one = of_groups.lower_bound(begin); one != of_groups.end() && one->first < end; ++one)
      scores[one->first - begin].copy_(one->second);
    const auto score = scores.accessor<float, 2>();
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t given = labels[static_cast<std::size_t>(i)];
      const Judgement judgement = judge(score[i - begin], i, given);
      recognised += judgement.is_recognised ? 1 : 0;
      if (judgement.error.margin >= kClearMargin && sizes[given] >= kLeastOfClass)
        check.errors.push_back(judgement.error);
    }
  }
  std::ranges::stable_sort(check.errors, std::greater(), &LabelError::margin);
  check.accuracy = static_cast<double>(recognised) / static_cast<double>(count);
  return check;
}

}  // namespace protogcd
