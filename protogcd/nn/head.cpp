#include "protogcd/nn/head.h"

#include <ATen/ATen.h>

#include <cmath>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr double kNormFloor = 1e-12, kProjectionDeviation = 0.02;

template <class Draw>
at::Tensor drawn(std::int64_t rows, std::int64_t columns, std::uint64_t seed, std::uint64_t tensor,
                 const Draw& draw) {
  at::Tensor values = at::empty({rows, columns}, at::kDouble);
  RandomStream stream(
      {.seed = seed, .purpose = RandomPurpose::kInitialise, .epoch = 0, .position = tensor});
  double* out = values.data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) out[i] = draw(stream);
  return values;
}

}  // namespace

at::Tensor unit_rows(const at::Tensor& x) {
  return x / x.norm(2, {-1}, /*keepdim=*/true).clamp_min(kNormFloor);
}

Head::Head(const HeadShape& shape, std::uint64_t seed, at::ScalarType type, at::Device device)
    : shape_(shape) {
  // The number of a tensor keys its random numbers: append, never renumber.
  const auto linear = [&](const std::string& name, std::uint64_t number, std::int64_t out,
                          std::int64_t in) {
    parameters_[name + ".weight"] = drawn(out, in, seed, number, [](RandomStream& stream) {
      return kProjectionDeviation * stream.normal();
    });
    parameters_[name + ".bias"] = at::zeros({out}, at::kDouble);
  };
  const auto directions = [&](const std::string& name, std::uint64_t number, std::int64_t out,
                              std::int64_t in) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    parameters_[name] = drawn(out, in, seed, number,
                              [&](RandomStream& stream) { return stream.uniform(-bound, bound); });
  };
  linear("mlp.0", 0, shape.hidden, shape.width);
  linear("mlp.2", 1, shape.hidden, shape.hidden);
  linear("mlp.4", 2, shape.projection, shape.hidden);
  directions("prototype_layer.weight_v", 3, shape.classes, shape.width);
  if (shape.wide_projection > 0)
    directions("last_layer.weight_v", 4, shape.wide_projection, shape.projection);
  for (auto& [name, tensor] : parameters_) tensor = tensor.to(device, type);
}

at::Tensor Head::project(const at::Tensor& features) const {
  const at::Tensor first = at::gelu(at::linear(features, at("mlp.0.weight"), at("mlp.0.bias")));
  const at::Tensor second = at::gelu(at::linear(first, at("mlp.2.weight"), at("mlp.2.bias")));
  const at::Tensor projected = at::linear(second, at("mlp.4.weight"), at("mlp.4.bias"));
  if (shape_.wide_projection == 0) return projected;
  return at::linear(unit_rows(projected), unit_rows(at("last_layer.weight_v")));
}

HeadOutput Head::forward(const at::Tensor& features) const {
  const at::Tensor prototypes = unit_rows(at("prototype_layer.weight_v"));
  return {project(features), at::linear(unit_rows(features), prototypes), prototypes};
}

at::Tensor Head::cosines(const at::Tensor& features) const {
  return at::linear(unit_rows(features), unit_rows(at("prototype_layer.weight_v")));
}

}  // namespace protogcd
