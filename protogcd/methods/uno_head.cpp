#include "protogcd/methods/uno_head.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/methods/losses.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

/// [B, H] by mean and variance of the rows of all processes.
at::Tensor batch_norm(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& bias,
                      Communicator& communicator) {
  constexpr double kEpsilon = 1e-5;
  const auto count = static_cast<double>(rows.size(0) * communicator.size());
  const at::Tensor centred = rows - sum_over_processes(rows.sum(0), communicator) / count;
  const at::Tensor variance = sum_over_processes(centred.square().sum(0), communicator) / count;
  return centred / (variance + kEpsilon).sqrt() * weight + bias;
}

}  // namespace

at::Tensor uno_loss(const at::Tensor& cosines, const StepBatch& batch, double temperature,
                    const SinkhornOptions& options, Communicator& communicator) {
  const std::int64_t images = batch.labels.size(0);
  const at::Tensor own =
      at::zeros_like(cosines.detach()).scatter_(1, both_views(batch.labels).unsqueeze(1), 1.0) *
      both_views(batch.labelled).unsqueeze(1);  // [2B, K]
  const auto assigned = [&](std::int64_t first) {
    return sinkhorn(cosines.detach().narrow(0, first, images), 1 - batch.labelled, options,
                    communicator);
  };
  const at::Tensor targets = own + at::cat({assigned(0), assigned(images)});
  return cross_view_loss(at::log_softmax(cosines / temperature, 1), targets, communicator);
}

UnoHead::UnoHead(std::int64_t width, std::int64_t prototypes, const UnoHeadShape& shape,
                 std::uint64_t seed, std::uint64_t first_number, at::ScalarType type,
                 at::Device device) {
  const auto linear = [&](const std::string& name, std::uint64_t number, std::int64_t out,
                          std::int64_t in) {
    parameters_[name + ".weight"] = fresh_rows(out, in, seed, first_number + number);
    parameters_[name + ".bias"] = at::zeros({out}, at::kDouble);
  };
  linear("mlp.0", 0, shape.hidden, width);
  parameters_["mlp.1.weight"] = at::ones({shape.hidden}, at::kDouble);
  parameters_["mlp.1.bias"] = at::zeros({shape.hidden}, at::kDouble);
  linear("mlp.3", 1, shape.projection, shape.hidden);
  parameters_["prototypes.weight"] =
      unit_rows(fresh_rows(prototypes, shape.projection, seed, first_number + 2));
  for (auto& [name, tensor] : parameters_) tensor = tensor.to(device, type);
}

at::Tensor UnoHead::forward_view(const at::Tensor& features, Communicator& communicator) const {
  const at::Tensor inner =
      at::relu(batch_norm(at::linear(features, at("mlp.0.weight"), at("mlp.0.bias")),
                          at("mlp.1.weight"), at("mlp.1.bias"), communicator));
  const at::Tensor outer = at::linear(inner, at("mlp.3.weight"), at("mlp.3.bias"));
  return at::matmul(unit_rows(outer), at("prototypes.weight").t());
}

at::Tensor UnoHead::forward(const at::Tensor& features, Communicator& communicator) const {
  const std::int64_t images = features.size(0) / 2;
  return at::cat({forward_view(features.narrow(0, 0, images), communicator),
                  forward_view(features.narrow(0, images, images), communicator)});
}

void UnoHead::normalise() {
  const at::NoGradGuard no_grad;
  at::Tensor& prototypes = parameters_.at("prototypes.weight");
  prototypes.copy_(unit_rows(prototypes));
}

}  // namespace protogcd
