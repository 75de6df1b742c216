#include "protogcd/pretrain/classification.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

at::Tensor unit_rows(const at::Tensor& x) {
  return x / x.norm(2, -1, /*keepdim=*/true).clamp_min(1e-12);
}

}  // namespace

Classification::Classification(std::int64_t width, std::int64_t classes,
                               const ClassificationOptions& options, const Placement& placement,
                               std::uint64_t seed)
    : options_(options) {
  directions_ = at::empty({classes, width}, at::kFloat);
  // View 1: the network's tensors have view 0.
  RandomStream random({.seed = seed, .purpose = RandomPurpose::kInitialise, .view = 1});
  auto* values = directions_.data_ptr<float>();
  for (std::int64_t i = 0; i < directions_.numel(); ++i)
    values[i] = static_cast<float>(0.02 * random.normal());
  directions_ = directions_.to(placement.device, placement.trained);
}

std::string Classification::settings() const {
  return fmt::format("{} classes, scale {}, label smoothing {}", directions_.size(0),
                     options_.scale, options_.label_smoothing);
}

std::map<std::string, at::Tensor> Classification::named_parameters() const {
  return {{"classifier.weight", directions_}};
}

at::Tensor Classification::logits(const at::Tensor& features) const {
  return at::linear(unit_rows(features), unit_rows(directions_)) * options_.scale;
}

at::Tensor Classification::loss_of(const at::Tensor& logits, const at::Tensor& labels) const {
  return at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Mean,
                                /*ignore_index=*/-100, options_.label_smoothing);
}

PretrainLoss Classification::loss(const PretrainNetwork& network,
                                  const PretrainBatch& batch) const {
  const at::Tensor scores = logits(network.features(batch.images, batch.numbers));
  const at::Tensor right = scores.detach().argmax(1) == batch.labels;
  return {loss_of(scores, batch.labels), right.to(scores.scalar_type()).mean()};
}

}  // namespace protogcd
