// Frozen blocks on the CPU with oneDNN's packed matrices.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "protogcd/engine/cpu_attention.h"
#include "protogcd/engine/frozen_blocks.h"

namespace protogcd {
namespace {

/// A linear layer in oneDNN's own weight layout, with GELU or a residual sum fused into the
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
    const at::Tensor mixed = attend(qkv_.run(normed(x, norm1_)), config_.heads);
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

class PackedBlocks : public FrozenBlocks {
 public:
  PackedBlocks(const Vit& vit, std::int64_t count) : config_(vit.config()) {
    for (std::int64_t i = 0; i < count; ++i) {
      blocks_.emplace_back(vit.weights().blocks[i], vit.config());
    }
  }

  TrunkTokens run(at::Tensor tokens) const override {
    for (const auto& block : blocks_) tokens = block.run(tokens);
    return finish_tokens(tokens, config_, std::ssize(blocks_));
  }

 private:
  VitConfig config_;
  std::vector<PackedBlock> blocks_;
};

}  // namespace

std::unique_ptr<FrozenBlocks> make_packed_blocks(const Vit& vit, std::int64_t count) {
  return std::make_unique<PackedBlocks>(vit, count);
}

}  // namespace protogcd
