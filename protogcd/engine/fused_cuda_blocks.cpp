// Frozen blocks on CUDA in bfloat16. What the products leave over is bound by memory: residual sum
// and LayerNorm are one kernel, bias and GELU part of the product before them.
#include <ATen/ATen.h>

#include "protogcd/engine/frozen_blocks.h"

#ifdef PROTOGCD_WITH_CUDA
#include "protogcd/engine/cuda_kernels.h"

namespace protogcd {
namespace {

class FusedCudaBlocks : public FrozenBlocks {
 public:
  FusedCudaBlocks(const Vit& vit, std::int64_t count) : config_(vit.config()) {
    for (std::int64_t i = 0; i < count; ++i) {
      BlockWeights block = vit.weights().blocks[i];
      block.projection = with_scale(block.projection, block.scale1);
      block.out = with_scale(block.out, block.scale2);
      blocks_.push_back(std::move(block));
    }
  }

  TrunkTokens run(at::Tensor tokens) const override {
    const std::int64_t batch = tokens.size(0), count = tokens.size(1), width = config_.width;
    at::Tensor x = tokens.view({batch * count, width}), branch;
    for (const auto& block : blocks_) {
      const at::Tensor input =
          residual_norm(x, branch, block.norm1.weight, block.norm1.bias, config_.epsilon);
      const at::Tensor attended =
          attend(at::linear(input, block.qkv.weight, block.qkv.bias), batch, count);
      branch = at::linear(attended, block.projection.weight, block.projection.bias);
      const at::Tensor middle =
          residual_norm(x, branch, block.norm2.weight, block.norm2.bias, config_.epsilon);
      branch = at::linear(inner(block, middle), block.out.weight, block.out.bias);
    }
    if (std::ssize(blocks_) + 1 < config_.depth) {  // x is a view of tokens
      if (branch.defined()) x.add_(branch);
      return {.normalised = {}, .class_token = {}, .raw = tokens};
    }
    const at::Tensor normalised = residual_norm(x, branch, {}, {}, config_.epsilon);
    return {normalised.view({batch, count, width}), tokens.select(1, 0).to(at::kFloat), {}};
  }

 private:
  at::Tensor attend(const at::Tensor& qkv, std::int64_t batch, std::int64_t count) const {
    const auto heads = qkv.view({batch, count, 3, config_.heads, config_.head_width()})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    return at::scaled_dot_product_attention(heads[0], heads[1], heads[2])
        .transpose(1, 2)
        .reshape({batch * count, config_.width});
  }

  // The product's fused GELU is the tanh form: it differs from the exact one by less than 5e-4,
  // below bfloat16's own rounding of these values (trunk_test holds the whole trunk to the plain
  // model).
  at::Tensor inner(const BlockWeights& block, const at::Tensor& input) const {
    if (!config_.gated_mlp)
      return at::_addmm_activation(block.in.bias, input, block.in.weight.t(), 1, 1,
                                   /*use_gelu=*/true);
    const auto halves = at::linear(input, block.in.weight, block.in.bias).chunk(2, -1);
    return at::silu(halves[0]).mul_(halves[1]);
  }

  VitConfig config_;
  std::vector<BlockWeights> blocks_;
};

}  // namespace

std::unique_ptr<FrozenBlocks> make_fused_cuda_blocks(const Vit& vit, std::int64_t count) {
  const std::int64_t width = vit.config().width;
  if (width % 8 != 0 || width > kWidestResidualNorm) return nullptr;
  return std::make_unique<FusedCudaBlocks>(vit, count);
}

}  // namespace protogcd

#else

namespace protogcd {

std::unique_ptr<FrozenBlocks> make_fused_cuda_blocks(const Vit&, std::int64_t) {
  return nullptr;
}

}  // namespace protogcd

#endif
