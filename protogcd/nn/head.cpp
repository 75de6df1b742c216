#include "protogcd/nn/head.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

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

/// x W^T + b; of a stack, each of its own.
at::Tensor linear_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (weight.dim() == 2) return at::linear(x, weight, bias);
  return at::baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2));
}

/// G = W^T W of the unit rows W of V. V is 67 MB, so that its gradient is bound by how often such a
/// matrix is read and written. With S = dG + dG^T: dW = W S, and the part of each row of dW along
/// its row of W changes no direction.
struct GramOfUnitRows : torch::autograd::Function<GramOfUnitRows> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& rows) {
    const at::Tensor length = rows.norm(2, {-1}, /*keepdim=*/true).clamp_min(kNormFloor);
    const at::Tensor unit = rows / length;
    context->save_for_backward({unit, length});
    return at::matmul(unit.transpose(-2, -1), unit);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &unit = saved[0], &length = saved[1];
    const at::Tensor to_unit = at::matmul(unit, gradients[0] + gradients[0].transpose(-2, -1));
    const at::Tensor along = (unit * to_unit).sum(-1, /*keepdim=*/true);
    return {at::addcmul(to_unit, unit, along, -1).div_(length)};
  }
};

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
  constexpr std::uint64_t kApart = 1'000'003;  // seeds of neighbouring runs share no projection
  const auto add = [&](const std::string& name, const auto& make) {
    if (shape.stacked == 0) {
      parameters_[name] = make(seed).to(device, type);
      return;
    }
    std::vector<at::Tensor> members;
    for (std::int64_t i = 1; i <= shape.stacked; ++i)
      members.push_back(make(seed + kApart * static_cast<std::uint64_t>(i)).to(device, type));
    parameters_[name] = at::stack(members);
  };
  const auto linear = [&](const std::string& name, std::uint64_t number, std::int64_t out,
                          std::int64_t in) {
    add(name + ".weight", [&](std::uint64_t own_seed) {
      return drawn(out, in, own_seed, number,
                   [](RandomStream& stream) { return kProjectionDeviation * stream.normal(); });
    });
    add(name + ".bias", [&](std::uint64_t) { return at::zeros({out}, at::kDouble); });
  };
  linear("mlp.0", kFirst, shape.hidden, shape.width);
  linear("mlp.2", kSecond, shape.hidden, shape.hidden);
  linear("mlp.4", kThird, shape.projection, shape.hidden);
  if (shape.wide_projection == 0) return;
  add("last_layer.weight_v", [&](std::uint64_t own_seed) {
    return fresh_rows(shape.wide_projection, shape.projection, own_seed, kWide);
  });
}

at::Tensor Projection::narrow(const at::Tensor& features) const {
  const at::Tensor first = at::gelu(linear_of(features, at("mlp.0.weight"), at("mlp.0.bias"))),
                   second = at::gelu(linear_of(first, at("mlp.2.weight"), at("mlp.2.bias")));
  return linear_of(second, at("mlp.4.weight"), at("mlp.4.bias"));
}

at::Tensor Projection::forward(const at::Tensor& features) const {
  if (shape_.wide_projection == 0) return narrow(features);
  return at::linear(unit_rows(narrow(features)), unit_rows(at("last_layer.weight_v")));
}

at::Tensor Projection::gram() const {
  return GramOfUnitRows::apply(at("last_layer.weight_v"));
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
