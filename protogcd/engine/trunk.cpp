#include "protogcd/engine/trunk.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/engine/buffer_pool.h"
#include "protogcd/engine/frozen_blocks.h"

namespace protogcd {
namespace {

class PlainBlocks : public FrozenBlocks {
 public:
  PlainBlocks(const Vit& vit, std::int64_t count) : vit_(vit), count_(count) {
    vit_.weights().blocks.resize(count);
  }

  TrunkTokens run(at::Tensor tokens) const override {
    for (std::int64_t i = 0; i < count_; ++i) tokens = vit_.block(i, tokens);
    return finish_tokens(tokens, vit_.config(), count_);
  }

 private:
  Vit vit_;
  std::int64_t count_;
};

std::unique_ptr<FrozenBlocks> choose_blocks(const Vit& vit, std::int64_t count, at::ScalarType type,
                                            at::Device device) {
  if (device.is_cuda() && type == at::kBFloat16) {
    if (auto fused = make_fused_cuda_blocks(vit, count)) return fused;
  }
  const bool can_pack =
      device.is_cpu() && (type == at::kFloat || type == at::kBFloat16) && at::hasMKLDNN();
  return can_pack ? make_packed_blocks(vit, count) : make_plain_blocks(vit, count);
}

/// Patches as rows of one matrix product, which both CPU and GPU do faster than a convolution.
class Embedding {
 public:
  explicit Embedding(const Vit& vit) : config_(vit.config()), weights_(vit.weights()) {
    weights_.blocks.clear();
    const std::int64_t prefix = config_.position_on_class ? 1 : 0;
    const at::Tensor positions = vit.positions_for(config_.grid, config_.grid);
    patch_weight_ = weights_.patches.weight.flatten(1);  // [D, 3 P P]
    first_tokens_ =
        prefix == 1 ? weights_.class_token + positions.slice(1, 0, 1) : weights_.class_token;
    if (config_.registers > 0)
      first_tokens_ = at::cat({first_tokens_, weights_.register_tokens}, 1);
  }

  /// images [B, 3, H, W] -> [B, T, D]
  at::Tensor run(const at::Tensor& images, const at::Tensor& patch_positions) const {
    const std::int64_t batch = images.size(0), patch = config_.patch,
                       prefix = config_.prefix_tokens();
    const std::int64_t rows = images.size(2) / patch, columns = images.size(3) / patch,
                       count = rows * columns;
    const at::Tensor pixels = images.view({batch, 3, rows, patch, columns, patch})
                                  .permute({0, 2, 4, 1, 3, 5})
                                  .reshape({batch * count, 3 * patch * patch});
    const at::Tensor patches = at::linear(pixels, patch_weight_, weights_.patches.bias)
                                   .view({batch, count, config_.width});
    at::Tensor tokens = at::empty({batch, prefix + count, config_.width}, patches.options());
    tokens.slice(1, 0, prefix).copy_(first_tokens_.expand({batch, -1, -1}));
    at::Tensor rest = tokens.slice(1, prefix);
    at::add_out(rest, patches, patch_positions);
    return tokens;
  }

 private:
  VitConfig config_;
  VitWeights weights_;
  at::Tensor patch_weight_, first_tokens_;
};

}  // namespace

struct Trunk::Model {
  Vit vit;  ///< without the frozen blocks where they were repacked
  Embedding embedding;
  std::unique_ptr<FrozenBlocks> blocks;
  at::ScalarType type;
  at::Device device;
  BufferPool pool;

  at::Tensor embed(const at::Tensor& images) const {
    const VitConfig& config = vit.config();
    const std::int64_t rows = images.size(2) / config.patch,
                       columns = images.size(3) / config.patch;
    const at::Tensor positions = vit.positions_for(rows, columns);
    return embedding.run(images, config.position_on_class ? positions.slice(1, 1) : positions);
  }
};

std::unique_ptr<FrozenBlocks> make_plain_blocks(const Vit& vit, std::int64_t count) {
  return std::make_unique<PlainBlocks>(vit, count);
}

LinearWeights with_scale(const LinearWeights& linear, const at::Tensor& scale) {
  if (!scale.defined()) return linear;
  return {linear.weight * scale.unsqueeze(1), linear.bias * scale};
}

TrunkTokens split_tokens(const at::Tensor& tokens, double epsilon) {
  const at::ScalarType class_type = tokens.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return {at::layer_norm(tokens, {tokens.size(-1)}, {}, {}, epsilon),
          tokens.select(1, 0).to(class_type),
          {}};
}

TrunkTokens finish_tokens(const at::Tensor& tokens, const VitConfig& config, std::int64_t count) {
  if (count + 1 == config.depth) return split_tokens(tokens, config.epsilon);
  return {.normalised = {}, .class_token = {}, .raw = tokens};
}

at::ScalarType fastest_trunk_type(at::Device device) {
  if (device.is_cuda()) return at::kBFloat16;
#if defined(__x86_64__)
  // Every CPU with AMX has these instructions too.
  if (__builtin_cpu_supports("avx512bf16")) return at::kBFloat16;
#endif
  return at::kFloat;
}

at::ScalarType trunk_type(const std::string& choice, at::Device device) {
  if (choice == "auto") return fastest_trunk_type(device);
  if (choice == "float32" || choice == "tf32") return at::kFloat;
  if (choice == "bfloat16") return at::kBFloat16;
  if (choice == "float64") return at::kDouble;
  throw UsageError(
      fmt::format("{}: '{}' is not allowed: expected auto, float32, tf32, bfloat16 or float64",
                  option_name("dtype"), choice));
}

void check_first_trained_block(const VitConfig& config, std::int64_t first_block) {
  if (first_block >= 0 && first_block < config.depth) return;
  throw UsageError(fmt::format(
      "{}: {} is not allowed: expected 0 to {} (the backbone has {} blocks, counted from 0)",
      option_name("grad_from_block"), first_block, config.depth - 1, config.depth));
}

Trunk::Trunk(const Vit& vit, at::ScalarType type, at::Device device,
             std::optional<std::int64_t> first_trained_block) {
  const std::int64_t count = first_trained_block.value_or(vit.config().depth - 1);
  check_first_trained_block(vit.config(), count);
  at::NoGradGuard no_grad;
  Vit converted = vit.converted(type, device);
  Embedding embedding(converted);
  auto blocks = choose_blocks(converted, count, type, device);
  converted.weights().blocks.clear();  // `blocks` holds what it needs
  model_ = std::make_unique<Model>(Model{std::move(converted), std::move(embedding),
                                         std::move(blocks), type, device, BufferPool()});
}

Trunk::~Trunk() = default;
Trunk::Trunk(Trunk&&) noexcept = default;

at::ScalarType Trunk::type() const {
  return model_->type;
}

TrunkTokens Trunk::run(const at::Tensor& images) const {
  at::NoGradGuard no_grad;
  std::optional<BufferPool::Scope> scope;
  if (model_->device.is_cpu()) scope.emplace(model_->pool);
  return model_->blocks->run(model_->embed(images.to(model_->device, model_->type).contiguous()));
}

std::uint64_t bytes_of(const TrunkTokens& tokens) {
  std::uint64_t bytes = 0;
  for (const at::Tensor* tensor : {&tokens.normalised, &tokens.class_token, &tokens.raw}) {
    if (tensor->defined()) bytes += tensor->nbytes();
  }
  return bytes;
}

TrunkTokens run_in_batches(const Trunk& trunk, const at::Tensor& images, std::int64_t batch) {
  if (images.size(0) <= batch) return trunk.run(images);
  std::vector<TrunkTokens> parts;
  for (const at::Tensor& part : images.split(batch)) parts.push_back(trunk.run(part));
  const auto joined = [&](at::Tensor TrunkTokens::*member) {
    if (!(parts[0].*member).defined()) return at::Tensor();
    std::vector<at::Tensor> tensors;
    for (const TrunkTokens& tokens : parts) tensors.push_back(tokens.*member);
    return at::cat(tensors);
  };
  return {joined(&TrunkTokens::normalised), joined(&TrunkTokens::class_token),
          joined(&TrunkTokens::raw)};
}

}  // namespace protogcd
