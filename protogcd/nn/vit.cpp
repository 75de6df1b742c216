#include "protogcd/nn/vit.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <cmath>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

at::Tensor apply(const LinearWeights& linear, const at::Tensor& x) {
  return at::linear(x, linear.weight, linear.bias);
}

at::Tensor apply(const NormWeights& norm, const at::Tensor& x, double epsilon) {
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, epsilon);
}

at::Tensor scaled(const at::Tensor& branch, const at::Tensor& scale) {
  return scale.defined() ? branch * scale : branch;
}

/// [B, T, 3D] -> queries, keys, values [B, heads, T, D/heads]; rows of qkv are ordered q, k, v,
/// then head, then channel.
std::array<at::Tensor, 3> split_heads(const at::Tensor& qkv, std::int64_t heads) {
  const std::int64_t batch = qkv.size(0), tokens = qkv.size(1), width = qkv.size(2) / 3;
  const at::Tensor parts =
      qkv.reshape({batch, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
  return {parts[0], parts[1], parts[2]};
}

at::Tensor copied(const at::Tensor& tensor, at::ScalarType type, at::Device device) {
  if (!tensor.defined()) return {};
  return tensor.detach().to(device, type, /*non_blocking=*/false, /*copy=*/true);
}

LinearWeights copied(const LinearWeights& linear, at::ScalarType type, at::Device device) {
  return {copied(linear.weight, type, device), copied(linear.bias, type, device)};
}

}  // namespace

NormWeights copied(const NormWeights& norm, at::ScalarType type, at::Device device) {
  return {copied(norm.weight, type, device), copied(norm.bias, type, device)};
}

BlockWeights copied(const BlockWeights& block, at::ScalarType type, at::Device device) {
  return {.norm1 = copied(block.norm1, type, device),
          .norm2 = copied(block.norm2, type, device),
          .qkv = copied(block.qkv, type, device),
          .projection = copied(block.projection, type, device),
          .in = copied(block.in, type, device),
          .out = copied(block.out, type, device),
          .scale1 = copied(block.scale1, type, device),
          .scale2 = copied(block.scale2, type, device)};
}

std::map<std::string, at::Tensor> named_tensors(const BlockWeights& block, const VitConfig& config,
                                                std::int64_t i) {
  const std::string name = fmt::format("blocks.{}.", i);
  const std::string in = config.gated_mlp ? "mlp.w12" : "mlp.fc1",
                    out = config.gated_mlp ? "mlp.w3" : "mlp.fc2";
  std::map<std::string, at::Tensor> tensors = {{name + "norm1.weight", block.norm1.weight},
                                               {name + "norm1.bias", block.norm1.bias},
                                               {name + "norm2.weight", block.norm2.weight},
                                               {name + "norm2.bias", block.norm2.bias},
                                               {name + "attn.qkv.weight", block.qkv.weight},
                                               {name + "attn.qkv.bias", block.qkv.bias},
                                               {name + "attn.proj.weight", block.projection.weight},
                                               {name + "attn.proj.bias", block.projection.bias},
                                               {name + in + ".weight", block.in.weight},
                                               {name + in + ".bias", block.in.bias},
                                               {name + out + ".weight", block.out.weight},
                                               {name + out + ".bias", block.out.bias}};
  if (config.layer_scale) {
    tensors[name + "ls1.gamma"] = block.scale1;
    tensors[name + "ls2.gamma"] = block.scale2;
  }
  return tensors;
}

std::map<std::string, at::Tensor> named_tensors(const Vit& vit) {
  const VitWeights& weights = vit.weights();
  std::map<std::string, at::Tensor> tensors = {{"cls_token", weights.class_token},
                                               {"pos_embed", weights.positions},
                                               {"patch_embed.proj.weight", weights.patches.weight},
                                               {"patch_embed.proj.bias", weights.patches.bias},
                                               {"norm.weight", weights.norm.weight},
                                               {"norm.bias", weights.norm.bias}};
  if (vit.config().registers > 0) tensors["register_tokens"] = weights.register_tokens;
  for (std::int64_t i = 0; i < vit.config().depth; ++i)
    tensors.merge(named_tensors(weights.blocks[i], vit.config(), i));
  return tensors;
}

Vit with_blocks(const Vit& vit, std::int64_t first, at::ScalarType type,
                const std::map<std::string, at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  Vit result = vit;
  for (std::int64_t i = first; i < vit.config().depth; ++i) {
    BlockWeights& block = result.weights().blocks[static_cast<std::size_t>(i)];
    block = copied(block, type, at::kCPU);
    for (const auto& [name, tensor] : named_tensors(block, vit.config(), i))
      tensor.copy_(tensors.at(name));
  }
  return result;
}

Vit::Vit(const VitConfig& config, const StateDict& state, at::ScalarType type, at::Device device)
    : config_(config) {
  unused_ = check_tensors(state, vit_tensors(config));
  const auto take = [&](const std::string& name) {
    return state.tensors.at(name).to(device, type).contiguous();
  };
  const auto linear = [&](const std::string& name) -> LinearWeights {
    return {take(name + ".weight"), take(name + ".bias")};
  };
  const auto norm = [&](const std::string& name) -> NormWeights {
    return {take(name + ".weight"), take(name + ".bias")};
  };
  weights_.class_token = take("cls_token");
  weights_.positions = take("pos_embed");
  if (config.registers > 0) weights_.register_tokens = take("register_tokens");
  weights_.patches = linear("patch_embed.proj");
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string name = fmt::format("blocks.{}.", i);
    BlockWeights block{.norm1 = norm(name + "norm1"),
                       .norm2 = norm(name + "norm2"),
                       .qkv = linear(name + "attn.qkv"),
                       .projection = linear(name + "attn.proj"),
                       .in = linear(name + (config.gated_mlp ? "mlp.w12" : "mlp.fc1")),
                       .out = linear(name + (config.gated_mlp ? "mlp.w3" : "mlp.fc2")),
                       .scale1 = {},
                       .scale2 = {}};
    if (config.layer_scale) {
      block.scale1 = take(name + "ls1.gamma");
      block.scale2 = take(name + "ls2.gamma");
    }
    weights_.blocks.push_back(std::move(block));
  }
  weights_.norm = norm("norm");
}

Vit Vit::converted(at::ScalarType type, at::Device device) const {
  const auto convert = [&](auto&... tensors) {
    ((tensors = tensors.defined() ? tensors.to(device, type) : tensors), ...);
  };
  Vit result = *this;
  VitWeights& weights = result.weights_;
  convert(weights.class_token, weights.positions, weights.register_tokens, weights.patches.weight,
          weights.patches.bias, weights.norm.weight, weights.norm.bias);
  for (auto& block : weights.blocks) {
    convert(block.norm1.weight, block.norm1.bias, block.norm2.weight, block.norm2.bias,
            block.qkv.weight, block.qkv.bias, block.projection.weight, block.projection.bias,
            block.in.weight, block.in.bias, block.out.weight, block.out.bias, block.scale1,
            block.scale2);
  }
  return result;
}

at::Tensor Vit::positions_for(std::int64_t rows, std::int64_t columns) const {
  const at::Tensor& stored = weights_.positions;
  if (rows == config_.grid && columns == config_.grid) return stored;
  const std::int64_t prefix = config_.position_on_class ? 1 : 0, grid = config_.grid;
  // Interpolated in float32 at least, whatever the weights' type: the releases do it once, at load
  // time.
  const at::ScalarType type = stored.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor square =
      stored.slice(1, prefix).to(type).reshape({1, grid, grid, -1}).permute({0, 3, 1, 2});
  at::Tensor fitted;
  switch (config_.position_rule) {
    case PositionRule::kScaleOffset: {
      constexpr double kOffset = 0.1;
      const double scale_rows = (static_cast<double>(rows) + kOffset) / static_cast<double>(grid);
      const double scale_columns =
          (static_cast<double>(columns) + kOffset) / static_cast<double>(grid);
      fitted = at::upsample_bicubic2d(square, {rows, columns}, false, scale_rows, scale_columns);
      break;
    }
    case PositionRule::kSize:
      fitted = at::upsample_bicubic2d(square, {rows, columns}, false);
      break;
    case PositionRule::kAntialias:
      fitted = at::_upsample_bicubic2d_aa(square, {rows, columns}, false);
      break;
  }
  fitted = fitted.permute({0, 2, 3, 1}).reshape({1, rows * columns, -1}).to(stored.scalar_type());
  return prefix == 0 ? fitted : at::cat({stored.slice(1, 0, 1), fitted}, 1);
}

at::Tensor Vit::embed(const at::Tensor& images) const {
  const std::int64_t rows = images.size(2) / config_.patch,
                     columns = images.size(3) / config_.patch;
  if (rows * config_.patch != images.size(2) || columns * config_.patch != images.size(3) ||
      rows * columns == 0) {
    throw InternalError(
        fmt::format("Vit: image of {} x {} pixels is no multiple of the patch size {}",
                    images.size(2), images.size(3), config_.patch));
  }
  const std::int64_t batch = images.size(0);
  const at::Tensor patches = at::conv2d(images, weights_.patches.weight, weights_.patches.bias,
                                        {config_.patch, config_.patch})
                                 .flatten(2)
                                 .transpose(1, 2);  // [B, N, D]
  const at::Tensor positions = positions_for(rows, columns);
  at::Tensor class_token = weights_.class_token, patch_positions = positions;
  if (config_.position_on_class) {
    class_token = class_token + positions.slice(1, 0, 1);
    patch_positions = positions.slice(1, 1);
  }
  std::vector<at::Tensor> parts = {class_token.expand({batch, -1, -1})};
  if (config_.registers > 0) parts.push_back(weights_.register_tokens.expand({batch, -1, -1}));
  parts.push_back(patches + patch_positions);
  return at::cat(parts, 1);
}

at::Tensor Vit::attention(std::int64_t i, const at::Tensor& tokens) const {
  const BlockWeights& block = weights_.blocks.at(i);
  const auto [queries, keys, values] =
      split_heads(apply(block.qkv, apply(block.norm1, tokens, config_.epsilon)), config_.heads);
  const double scale = 1 / std::sqrt(static_cast<double>(config_.head_width()));
  return at::softmax(at::matmul(queries, keys.transpose(-2, -1)) * scale, -1);
}

at::Tensor Vit::attention_branch(std::int64_t i, const at::Tensor& tokens) const {
  const BlockWeights& block = weights_.blocks.at(i);
  const auto [queries, keys, values] =
      split_heads(apply(block.qkv, apply(block.norm1, tokens, config_.epsilon)), config_.heads);
  const at::Tensor mixed =
      at::scaled_dot_product_attention(queries, keys, values).transpose(1, 2).flatten(2);
  return scaled(apply(block.projection, mixed), block.scale1);
}

at::Tensor Vit::mlp_branch(std::int64_t i, const at::Tensor& tokens) const {
  const BlockWeights& block = weights_.blocks.at(i);
  at::Tensor inner = apply(block.in, apply(block.norm2, tokens, config_.epsilon));
  if (config_.gated_mlp) {
    const auto halves = inner.chunk(2, -1);
    inner = at::silu(halves[0]) * halves[1];
  } else {
    inner = at::gelu(inner);
  }
  return scaled(apply(block.out, inner), block.scale2);
}

at::Tensor Vit::block(std::int64_t i, const at::Tensor& tokens) const {
  const at::Tensor x = tokens + attention_branch(i, tokens);
  return x + mlp_branch(i, x);
}

at::Tensor Vit::final_norm(const at::Tensor& tokens) const {
  return apply(weights_.norm, tokens, config_.epsilon);
}

at::Tensor Vit::forward_tokens(const at::Tensor& images) const {
  at::Tensor tokens = embed(images);
  for (std::int64_t i = 0; i < config_.depth; ++i) tokens = block(i, tokens);
  return final_norm(tokens);
}

at::Tensor Vit::forward(const at::Tensor& images) const {
  return forward_tokens(images).select(1, 0);
}

}  // namespace protogcd
