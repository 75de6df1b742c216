#include "protogcd/engine/trunk.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include <cmath>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

/// A linear layer in oneDNN's own weight layout, with bias, GELU or a residual sum fused into the
/// product. libtorch has these operations for its compiler; they are reached through the
/// dispatcher.
class PackedLinear {
 public:
  explicit PackedLinear(const LinearWeights& linear) : bias_(linear.bias) {
    static const auto kReorder =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("mkldnn::_reorder_linear_weight", "")
            .typed<at::Tensor(const at::Tensor&, std::optional<std::int64_t>)>();
    weight_ = kReorder.call(linear.weight, std::nullopt);
  }

  at::Tensor run(const at::Tensor& x, std::string_view activation = "none") const {
    static const auto kLinear =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("mkldnn::_linear_pointwise", "")
            .typed<at::Tensor(const at::Tensor&, const at::Tensor&,
                              const std::optional<at::Tensor>&, std::string_view,
                              c10::List<std::optional<at::Scalar>>,
                              std::optional<std::string_view>)>();
    return kLinear.call(x, weight_, bias_, activation, c10::List<std::optional<at::Scalar>>(),
                        "none");
  }

  at::Tensor run_and_add(const at::Tensor& x, const at::Tensor& residual) const {
    static const auto kLinear =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("mkldnn::_linear_pointwise", "binary")
            .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                              const std::optional<at::Tensor>&, std::string_view)>();
    return kLinear.call(x, residual, weight_, bias_, "add");
  }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

/// Layer scale is a factor on the output channels of the branch's last matrix: it goes into that
/// matrix for good.
LinearWeights with_scale(const LinearWeights& linear, const at::Tensor& scale) {
  if (!scale.defined()) return linear;
  return {linear.weight * scale.unsqueeze(1), linear.bias * scale};
}

/// A frozen block with its matrices packed for oneDNN (CPU, bfloat16 or float32).
class PackedBlock {
 public:
  PackedBlock(const BlockWeights& block, const VitConfig& config)
      : config_(config),
        norm1_(block.norm1),
        norm2_(block.norm2),
        qkv_(block.qkv),
        projection_(with_scale(block.projection, block.scale1)),
        in_(block.in),
        out_(with_scale(block.out, block.scale2)) {}

  at::Tensor run(const at::Tensor& x) const {
    const std::int64_t batch = x.size(0), tokens = x.size(1), width = x.size(2);
    const auto heads = qkv_.run(normed(x, norm1_))
                           .view({batch, tokens, 3, config_.heads, width / config_.heads})
                           .unbind(2);
    const at::Tensor mixed =
        at::scaled_dot_product_attention(heads[0].transpose(1, 2), heads[1].transpose(1, 2),
                                         heads[2].transpose(1, 2))
            .transpose(1, 2)
            .reshape({batch, tokens, width});
    const at::Tensor y = projection_.run_and_add(mixed, x);
    return out_.run_and_add(inner(normed(y, norm2_)), y);
  }

 private:
  at::Tensor normed(const at::Tensor& x, const NormWeights& norm) const {
    return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, config_.epsilon);
  }

  at::Tensor inner(const at::Tensor& x) const {
    if (!config_.gated_mlp) return in_.run(x, "gelu");
    const auto halves = in_.run(x).chunk(2, -1);
    return at::silu(halves[0]).mul_(halves[1]);
  }

  VitConfig config_;
  NormWeights norm1_, norm2_;
  PackedLinear qkv_, projection_, in_, out_;
};

}  // namespace

struct Trunk::Model {
  Vit vit;  ///< embedding, and the blocks where they are not packed
  std::vector<PackedBlock> packed;
  at::ScalarType type;
  at::Device device;

  std::int64_t frozen_blocks() const { return vit.config().depth - 1; }

  at::Tensor block(std::int64_t i, const at::Tensor& tokens) const {
    return packed.empty() ? vit.block(i, tokens) : packed[i].run(tokens);
  }
};

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
  if (choice == "float32") return at::kFloat;
  if (choice == "bfloat16") return at::kBFloat16;
  if (choice == "float64") return at::kDouble;
  throw UsageError(fmt::format(
      "--dtype: '{}' is not allowed: expected auto, float32, bfloat16 or float64", choice));
}

Trunk::Trunk(const Vit& vit, at::ScalarType type, at::Device device) {
  at::NoGradGuard no_grad;
  model_ = std::make_unique<Model>(Model{vit.converted(type, device), {}, type, device});
  const bool can_pack =
      device.is_cpu() && (type == at::kFloat || type == at::kBFloat16) && at::hasMKLDNN();
  if (!can_pack) return;
  auto& blocks = model_->vit.weights().blocks;
  for (std::int64_t i = 0; i < model_->frozen_blocks(); ++i) {
    model_->packed.emplace_back(blocks[i], vit.config());
    blocks[i] = {};  // the packed copy is enough
  }
}

Trunk::~Trunk() = default;
Trunk::Trunk(Trunk&&) noexcept = default;

at::ScalarType Trunk::type() const {
  return model_->type;
}

TrunkTokens Trunk::run(const at::Tensor& images) const {
  at::NoGradGuard no_grad;
  at::Tensor tokens = model_->vit.embed(images.to(model_->device, model_->type));
  for (std::int64_t i = 0; i < model_->frozen_blocks(); ++i) tokens = model_->block(i, tokens);
  const at::ScalarType class_type = model_->type == at::kDouble ? at::kDouble : at::kFloat;
  return {at::layer_norm(tokens, {tokens.size(-1)}, {}, {}, model_->vit.config().epsilon),
          tokens.select(1, 0).to(class_type)};
}

}  // namespace protogcd
