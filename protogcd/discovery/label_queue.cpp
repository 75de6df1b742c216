#include "protogcd/discovery/label_queue.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <queue>
#include <span>

#include "protogcd/core/text.h"
#include "protogcd/discovery/report_files.h"

namespace protogcd {
namespace {

// An image stands for another by exp((cosine - 1) / kReach): the temperature of the classes.
constexpr double kReach = 0.1;
// How much being unsure counts beside having a class without labels.
constexpr double kUnsureWeight = 0.1;
// Images that are more alike than this are copies: the second label would say nothing new.
constexpr float kCopy = 0.999f;
// All pairs of more would take memory and time; these are evenly chosen.
constexpr std::int64_t kMostPaired = 4000;
// For `why`: a class with fewer labels has few, an image with a smaller margin is hardly told.
constexpr std::size_t kFewLabels = 10;
constexpr float kSmallMargin = 0.5f;

struct Margin {
  float lead = 1;  ///< of the image's own class over the likeliest other, in probability
  std::size_t other = 0;
};

Margin margin_of(const Predictions& predictions, std::size_t image) {
  const std::span<const float> chances = predictions.posterior_of(image);
  const auto own = static_cast<std::size_t>(predictions.labels[image]);
  Margin margin{.lead = chances[own], .other = own};
  for (std::size_t k = 0; k < chances.size(); ++k) {
    if (k != own && (margin.other == own || chances[k] > chances[margin.other])) margin.other = k;
  }
  if (margin.other != own) margin.lead -= chances[margin.other];
  return margin;
}

std::string reason_to_label(const Predictions& predictions, const ModelInfo& info,
                            std::size_t labels, std::size_t image) {
  const auto own = static_cast<std::size_t>(predictions.labels[image]);
  const Margin margin = margin_of(predictions, image);
  std::vector<std::string> parts;
  if (labels == 0) {
    parts.push_back(fmt::format("{} has no label yet", info.classes[own]));
  } else if (labels < kFewLabels) {
    parts.push_back(
        fmt::format("{} has {} label{}", info.classes[own], labels, labels == 1 ? "" : "s"));
  }
  if (margin.other != own && margin.lead < kSmallMargin)
    parts.push_back(fmt::format("hardly told from {}", info.classes[margin.other]));
  return parts.empty() ? "stands for many others" : join(parts, ", ");
}

/// How well candidates stand for images, and what each image is worth.
struct Coverage {
  at::Tensor similarity;       ///< [n, n] float32
  std::vector<double> worth;   ///< [n]
  std::vector<float> covered;  ///< [n]: by the nearest chosen one

  std::span<const float> of(std::size_t i) const {
    return {similarity.const_data_ptr<float>() + i * worth.size(), worth.size()};
  }
  double gain(std::size_t i) const {
    const auto row = of(i);
    double sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j)
      sum += worth[j] * double{std::max(row[j] - covered[j], 0.0f)};
    return sum;
  }
  void choose(std::size_t i) {
    const auto row = of(i);
    for (std::size_t j = 0; j < row.size(); ++j) covered[j] = std::max(covered[j], row[j]);
  }
};

/// The greedy choice. Gains only shrink as images are chosen, so that one which is still the
/// largest after it was computed again is the largest of all.
std::vector<std::size_t> greedy_choice(Coverage& coverage,
                                       const std::vector<std::size_t>& candidates,
                                       std::size_t most) {
  struct Bound {
    double gain;
    std::size_t candidate, chosen_then;
    bool operator<(const Bound& other) const {
      return gain != other.gain ? gain < other.gain : candidate > other.candidate;
    }
  };
  std::priority_queue<Bound> bounds;
  for (const std::size_t i : candidates) bounds.push({coverage.gain(i), i, 0});
  std::vector<std::size_t> chosen;
  while (chosen.size() < most && !bounds.empty()) {
    Bound best = bounds.top();
    bounds.pop();
    if (coverage.covered[best.candidate] > kCopy) continue;
    if (best.chosen_then < chosen.size()) {
      bounds.push({coverage.gain(best.candidate), best.candidate, chosen.size()});
      continue;
    }
    chosen.push_back(best.candidate);
    coverage.choose(best.candidate);
  }
  return chosen;
}

}  // namespace

std::vector<QueuedImage> label_queue(const at::Tensor& features, const Predictions& predictions,
                                     const ModelInfo& info,
                                     const std::vector<std::size_t>& labelled, std::size_t most) {
  const auto images =
      evenly_chosen_rows(static_cast<std::int64_t>(predictions.size()), kMostPaired);
  if (images.empty()) return {};
  const auto labels_of = [&](std::size_t image) {
    return labelled[static_cast<std::size_t>(predictions.labels[image])];
  };
  Coverage coverage;
  const at::Tensor rows =
      features.index_select(0, at::tensor(at::ArrayRef<std::int64_t>(images), at::kLong))
          .to(at::kFloat);
  coverage.similarity = rows.mm(rows.t()).sub_(1).div_(kReach).exp_().contiguous();
  coverage.covered.resize(images.size());
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto image = static_cast<std::size_t>(images[i]);
    if (predictions.row({}, image, info).is_outlier.value_or(false)) {
      coverage.worth.push_back(0);
      continue;
    }
    const double unsure = std::clamp(1 - double{margin_of(predictions, image).lead}, 0.0, 1.0);
    coverage.worth.push_back(1 / (1 + static_cast<double>(labels_of(image))) +
                             kUnsureWeight * unsure);
    candidates.push_back(i);
  }
  std::vector<QueuedImage> queue;
  for (const std::size_t i : greedy_choice(coverage, candidates, most)) {
    const auto image = static_cast<std::size_t>(images[i]);
    queue.push_back({image, reason_to_label(predictions, info, labels_of(image), image)});
  }
  return queue;
}

}  // namespace protogcd
