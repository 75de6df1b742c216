#include "protogcd/discovery/foreign.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"

namespace protogcd {
namespace {

constexpr std::int64_t kNearest = 5;  // images that a similarity is the mean of
constexpr std::int64_t kRowsOfForeign = 4096;
/// Of labelled images, the share that is farther from all other labelled classes than the limit.
constexpr double kShareBeyond = 0.01;
/// About that share of images of new classes is beyond it too. So few are left alone; and so many
/// are no strays, but classes unlike the labelled ones.
constexpr double kLeastForeign = 3 * kShareBeyond, kMostForeign = 0.2;
constexpr std::size_t kLeastClasses = 4;

/// Of each row of `features` [N, D]: mean cosine with the nearest rows of `others` [M, D], but for
/// those of its own class, where classes [N] and [M] are given.
at::Tensor similarity(const at::Tensor& features, const at::Tensor& others,
                      const at::Tensor& own = {}, const at::Tensor& classes = {}) {
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < features.size(0); first += kRowsOfForeign) {
    const std::int64_t end = std::min(first + kRowsOfForeign, features.size(0));
    at::Tensor cosines = features.slice(0, first, end).matmul(others.t());
    if (own.defined())
      cosines.masked_fill_(own.slice(0, first, end).unsqueeze(1) == classes.unsqueeze(0), -1);
    parts.push_back(std::get<0>(cosines.topk(std::min(kNearest, others.size(0)), 1)).mean(1));
  }
  return at::cat(parts);
}

}  // namespace

ForeignImages find_foreign(const at::Tensor& labelled, const at::Tensor& labels,
                           const at::Tensor& unlabelled) {
  const std::size_t classes =
      labels.numel() == 0 ? 0 : static_cast<std::size_t>(std::get<0>(at::_unique(labels)).numel());
  if (classes < kLeastClasses || unlabelled.size(0) == 0) {
    return {.why_kept = fmt::format(
                "images unlike all that is labelled are not looked for: it takes {} labelled "
                "classes, and there are {}",
                kLeastClasses, classes)};
  }
  const at::Tensor to_other_classes =
      std::get<0>(similarity(labelled, labelled, labels, labels).sort());
  const auto beyond =
      static_cast<std::int64_t>(kShareBeyond * static_cast<double>(to_other_classes.numel()));
  const auto limit = to_other_classes[beyond].item<float>();
  const at::Tensor to_labelled = similarity(unlabelled, labelled).contiguous();  // [N_u]
  const auto* values = to_labelled.const_data_ptr<float>();
  ForeignImages foreign;
  for (std::int64_t i = 0; i < to_labelled.numel(); ++i) {
    if (values[i] >= limit) continue;
    foreign.places.push_back(static_cast<std::uint32_t>(i));
    foreign.similarity.push_back(values[i]);
  }
  const double share =
      static_cast<double>(foreign.places.size()) / static_cast<double>(to_labelled.numel());
  if (share < kLeastForeign) {
    return {.why_kept = fmt::format(
                "{:.1f}% of the unlabelled images look unlike all that is labelled: no more than "
                "chance would make, they are trained on",
                100 * share)};
  }
  if (share <= kMostForeign) return foreign;
  return {.why_kept = fmt::format(
              "{:.0f}% of the unlabelled images look unlike all that is labelled: too many to be "
              "strays, they are trained on",
              100 * share)};
}

ForeignImages ForeignImages::checked(std::size_t unlabelled, const std::string& origin) const {
  const bool ascends = std::ranges::adjacent_find(places, std::greater_equal()) == places.end();
  if (!ascends || similarity.size() != places.size() ||
      (!places.empty() && places.back() >= unlabelled)) {
    throw DataError(fmt::format("{}: these are not places among {} images", origin, unlabelled),
                    "remove it to look for foreign images again");
  }
  return *this;
}

nlohmann::json ForeignImages::to_json() const {
  return {{"places", places}, {"similarity", similarity}, {"why_kept", why_kept}};
}

ForeignImages ForeignImages::from_json(const nlohmann::json& json) {
  return {.places = json.at("places").get<std::vector<std::uint32_t>>(),
          .similarity = json.at("similarity").get<std::vector<double>>(),
          .why_kept = json.at("why_kept").get<std::string>()};
}

}  // namespace protogcd
