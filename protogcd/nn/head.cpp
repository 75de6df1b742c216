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

// The number of a tensor keys its random numbers: append, never renumber.
enum : std::uint64_t { kFirst, kSecond, kThird, kPrototypes, kWide };

}  // namespace

at::Tensor unit_rows(const at::Tensor& x) {
  return x / x.norm(2, {-1}, /*keepdim=*/true).clamp_min(kNormFloor);
}

at::Tensor fresh_rows(std::int64_t out, std::int64_t in, std::uint64_t seed, std::uint64_t number) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  return drawn(out, in, seed, number,
               [&](RandomStream& stream) { return stream.uniform(-bound, bound); });
}

Projection::Projection(const HeadShape& shape, std::uint64_t seed, at::ScalarType type,
                       at::Device device)
    : shape_(shape) {
  if (shape.projection == 0) return;
  const auto linear = [&](const std::string& name, std::uint64_t number, std::int64_t out,
                          std::int64_t in) {
    parameters_[name + ".weight"] = drawn(out, in, seed, number, [](RandomStream& stream) {
      return kProjectionDeviation * stream.normal();
    });
    parameters_[name + ".bias"] = at::zeros({out}, at::kDouble);
  };
  linear("mlp.0", kFirst, shape.hidden, shape.width);
  linear("mlp.2", kSecond, shape.hidden, shape.hidden);
  linear("mlp.4", kThird, shape.projection, shape.hidden);
  if (shape.wide_projection > 0) {
    parameters_["last_layer.weight_v"] =
        fresh_rows(shape.wide_projection, shape.projection, seed, kWide);
  }
  for (auto& [name, tensor] : parameters_) tensor = tensor.to(device, type);
}

at::Tensor Projection::narrow(const at::Tensor& features) const {
  const at::Tensor first = at::gelu(at::linear(features, at("mlp.0.weight"), at("mlp.0.bias")));
  const at::Tensor second = at::gelu(at::linear(first, at("mlp.2.weight"), at("mlp.2.bias")));
  return at::linear(second, at("mlp.4.weight"), at("mlp.4.bias"));
}

at::Tensor Projection::forward(const at::Tensor& features) const {
  if (shape_.wide_projection == 0) return narrow(features);
  return at::linear(unit_rows(narrow(features)), unit_rows(at("last_layer.weight_v")));
}

at::Tensor Projection::gram() const {
  const at::Tensor wide = unit_rows(at("last_layer.weight_v"));
  return at::matmul(wide.t(), wide);
}

Head::Head(const HeadShape& shape, std::uint64_t seed, at::ScalarType type, at::Device device)
    : shape_(shape),
      projection_(shape, seed, type, device),
      prototypes_(fresh_rows(shape.classes, shape.width, seed, kPrototypes).to(device, type)),
      parameters_(projection_.named_parameters()) {
  parameters_["prototype_layer.weight_v"] = prototypes_;
}

HeadOutput Head::forward(const at::Tensor& features) const {
  const at::Tensor prototypes = unit_rows(prototypes_);
  return {shape_.projection > 0 ? projection_.forward(features) : at::Tensor(),
          at::linear(unit_rows(features), prototypes), prototypes};
}

at::Tensor Head::cosines(const at::Tensor& features) const {
  return at::linear(unit_rows(features), unit_rows(prototypes_));
}

}  // namespace protogcd
