#include "protogcd/discovery/prototype_score.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

namespace protogcd {
namespace {

/// Rows of other classes are left out; a class without rows gives NaN. features [N, D], labels [N]
/// -> [K_old, D]
at::Tensor class_means(const at::Tensor& features, const at::Tensor& labels,
                       std::int64_t old_classes) {
  const at::Tensor rows = (labels < old_classes).nonzero().squeeze(1);
  const at::Tensor classes = labels.index_select(0, rows);
  const at::Tensor sums =
      at::zeros({old_classes, features.size(1)}, at::kDouble)
          .index_add_(0, classes, features.index_select(0, rows).to(at::kDouble));
  return sums / at::bincount(classes, {}, old_classes).unsqueeze(1);
}

at::Tensor nearest(const at::Tensor& features, const Prototypes& prototypes) {
  return prototypes.scores(prototypes.cosines(features)).argmax(1);
}

}  // namespace

double PrototypeScore::log_score() const {
  return std::log(accuracy) + log_centroids;
}

PrototypeScore prototype_score(const Candidate& candidate, const at::Tensor& labels,
                               std::int64_t old_classes) {
  const at::Tensor hits = nearest(candidate.labelled, candidate.prototypes) == labels;
  const at::Tensor own = class_means(candidate.labelled, labels, old_classes);
  const at::Tensor found = class_means(
      candidate.unlabelled, nearest(candidate.unlabelled, candidate.prototypes), old_classes);
  const at::Tensor factors = (own * found).sum(1);             // [K_old]
  const bool all_positive = (factors > 0).all().item<bool>();  // false for NaN too
  return {.accuracy = hits.to(at::kDouble).mean().item<double>(),
          .log_centroids = all_positive ? factors.log().sum().item<double>()
                                        : -std::numeric_limits<double>::infinity()};
}

}  // namespace protogcd
