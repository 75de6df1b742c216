#include "protogcd/engine/tail.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace protogcd {

Tail::Tail(const Vit& vit, at::ScalarType type, at::Device device) : config_(vit.config()) {
  const auto copied = [&](const at::Tensor& tensor) {
    return tensor.defined()
               ? tensor.detach().to(device, type, /*non_blocking=*/false, /*copy=*/true)
               : at::Tensor();
  };
  const auto linear = [&](const LinearWeights& source) -> LinearWeights {
    return {copied(source.weight), copied(source.bias)};
  };
  const auto norm = [&](const NormWeights& source) -> NormWeights {
    return {copied(source.weight), copied(source.bias)};
  };
  const BlockWeights& last = vit.weights().blocks.back();
  block_ = {.norm1 = norm(last.norm1),
            .norm2 = norm(last.norm2),
            .qkv = linear(last.qkv),
            .projection = linear(last.projection),
            .in = linear(last.in),
            .out = linear(last.out),
            .scale1 = copied(last.scale1),
            .scale2 = copied(last.scale2)};
  final_norm_ = norm(vit.weights().norm);
}

// With n_t the normalised tokens, gamma and beta norm1's scale and shift, and per head h:
//   score_t = q_h . W_k,h (gamma n_t + beta)   = (gamma W_k,h^T q_h) . n_t + const        (const
//   cancels in the softmax) value   = sum_t p_t W_v,h (gamma n_t + beta) = W_v,h (gamma (sum_t p_t
//   n_t) + beta)   (the p_t sum to 1)
// so that the tokens are touched by two small products only, and never projected.
at::Tensor Tail::forward(const TrunkTokens& tokens) const {
  const at::Tensor& n = tokens.normalised;  // [B, T, D]
  const std::int64_t batch = n.size(0), width = config_.width, heads = config_.heads,
                     head = config_.head_width();
  const at::ScalarType type = block_.qkv.weight.scalar_type();
  const auto qkv_weight =
      block_.qkv.weight.view({3, heads, head, width});  // q, k, v: [heads, head, D]
  const auto qkv_bias = block_.qkv.bias.view({3, width});
  const at::Tensor &gamma = block_.norm1.weight, &beta = block_.norm1.bias;

  const at::Tensor class_input = n.select(1, 0).to(type) * gamma + beta;  // [B, D]
  const at::Tensor query =
      at::linear(class_input, qkv_weight[0].reshape({width, width}), qkv_bias[0]);
  const at::Tensor absorbed =
      at::matmul(query.view({batch, heads, head}).transpose(0, 1), qkv_weight[1]).transpose(0, 1) *
      gamma;  // [B, heads, D]
  const double scale = 1 / std::sqrt(static_cast<double>(head));
  const at::Tensor scores = at::matmul(absorbed.to(n.scalar_type()), n.transpose(1, 2)).to(type) *
                            scale;  // [B, heads, T]
  const at::Tensor mean =
      at::matmul(at::softmax(scores, -1).to(n.scalar_type()), n).to(type);  // [B, heads, D]
  const at::Tensor values =
      at::matmul((mean * gamma + beta).transpose(0, 1), qkv_weight[2].transpose(1, 2))
          .transpose(0, 1)
          .reshape({batch, width}) +
      qkv_bias[2];  // [B, D]

  const auto residual = [](const at::Tensor& x, const LinearWeights& linear,
                           const at::Tensor& input, const at::Tensor& factor) {
    const at::Tensor branch = at::linear(input, linear.weight, linear.bias);
    return factor.defined() ? x + branch * factor : x + branch;
  };
  const at::Tensor x =
      residual(tokens.class_token.to(type), block_.projection, values, block_.scale1);
  const at::Tensor normed =
      at::layer_norm(x, {width}, block_.norm2.weight, block_.norm2.bias, config_.epsilon);
  at::Tensor inner = at::linear(normed, block_.in.weight, block_.in.bias);
  if (config_.gated_mlp) {
    const auto halves = inner.chunk(2, -1);
    inner = at::silu(halves[0]) * halves[1];
  } else {
    inner = at::gelu(inner);
  }
  const at::Tensor y = residual(x, block_.out, inner, block_.scale2);
  return at::layer_norm(y, {width}, final_norm_.weight, final_norm_.bias, config_.epsilon);
}

std::map<std::string, at::Tensor> Tail::named_parameters() const {
  const std::string name = fmt::format("blocks.{}.", config_.depth - 1);
  const std::string in = config_.gated_mlp ? "mlp.w12" : "mlp.fc1",
                    out = config_.gated_mlp ? "mlp.w3" : "mlp.fc2";
  std::map<std::string, at::Tensor> parameters = {
      {name + "norm1.weight", block_.norm1.weight},
      {name + "norm1.bias", block_.norm1.bias},
      {name + "norm2.weight", block_.norm2.weight},
      {name + "norm2.bias", block_.norm2.bias},
      {name + "attn.qkv.weight", block_.qkv.weight},
      {name + "attn.qkv.bias", block_.qkv.bias},
      {name + "attn.proj.weight", block_.projection.weight},
      {name + "attn.proj.bias", block_.projection.bias},
      {name + in + ".weight", block_.in.weight},
      {name + in + ".bias", block_.in.bias},
      {name + out + ".weight", block_.out.weight},
      {name + out + ".bias", block_.out.bias}};
  if (config_.layer_scale) {
    parameters[name + "ls1.gamma"] = block_.scale1;
    parameters[name + "ls2.gamma"] = block_.scale2;
  }
  return parameters;
}

}  // namespace protogcd
