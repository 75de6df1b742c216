#include "protogcd/engine/tail.h"

#include <ATen/ATen.h>

#include <cmath>

#include "protogcd/engine/pooled_tokens.h"

namespace protogcd {
namespace {

/// [B, D]
at::Tensor normalised_class(const TrunkTokens& tokens) {
  if (tokens.first.defined()) return tokens.first;
  const at::Tensor all = tokens.normalised.select(1, 0);
  return tokens.rows.defined() ? all.index_select(0, tokens.rows) : all;
}

}  // namespace

Tail::Tail(const Vit& vit, at::ScalarType type, at::Device device)
    : config_(vit.config()),
      block_(copied(vit.weights().blocks.back(), type, device)),
      final_norm_(copied(vit.weights().norm, type, device)) {}

// With n_t the normalised tokens, gamma and beta norm1's scale and shift, and per head h:
//
//   score_t = q_h . W_k,h (gamma n_t + beta)
//           = (gamma W_k,h^T q_h) . n_t + const
//   value   = sum_t p_t W_v,h (gamma n_t + beta)
//           = W_v,h (gamma (sum_t p_t n_t) + beta)
//
// (the constant cancels in the softmax, and the p_t sum to 1) so that the tokens are touched by two
// small products only, and never projected. gamma and the softmax's scale go into the matrices and
// the query, which are smaller than what they act on.
at::Tensor Tail::forward(const TrunkTokens& tokens) const {
  const std::int64_t batch = tokens.class_token.size(0), width = config_.width,
                     heads = config_.heads, head = config_.head_width();
  const at::ScalarType type = block_.qkv.weight.scalar_type();
  const auto qkv_weight =
      block_.qkv.weight.view({3, heads, head, width}).unbind();  // q, k, v: [heads, head, D]
  const auto qkv_bias = block_.qkv.bias.view({3, width}).unbind();
  const at::Tensor &gamma = block_.norm1.weight, &beta = block_.norm1.bias;

  const at::Tensor class_input = normalised_class(tokens).to(type) * gamma + beta;  // [B, D]
  const double scale = 1 / std::sqrt(static_cast<double>(head));
  const at::Tensor query =
      at::linear(class_input, qkv_weight[0].reshape({width, width}), qkv_bias[0]) * scale;
  const at::Tensor absorbed =
      at::matmul(query.view({batch, heads, head}).transpose(0, 1), qkv_weight[1] * gamma)
          .transpose(0, 1);  // [B, heads, D]
  const at::Tensor mean =
      pooled_tokens(absorbed, {tokens.normalised, tokens.rows, tokens.first});  // [B, heads, D]
  const at::Tensor values =
      at::matmul(mean.transpose(0, 1), (qkv_weight[2] * gamma).transpose(1, 2))
          .transpose(0, 1)
          .reshape({batch, width}) +
      at::mv(qkv_weight[2].reshape({width, width}), beta) + qkv_bias[2];  // [B, D]

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
  return named_tensors(block_, config_, config_.depth - 1);
}

std::unique_ptr<TrainedBlocks> Tail::copy() const {
  auto other = std::make_unique<Tail>(*this);
  other->block_ = copied(block_, block_.qkv.weight.scalar_type(), block_.qkv.weight.device());
  return other;
}

}  // namespace protogcd
