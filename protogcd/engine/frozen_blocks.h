// Ways to run the frozen blocks, one per kind of hardware; trunk.cpp chooses. Private to the
// engine.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "protogcd/engine/trunk.h"

namespace protogcd {

/// What is done to tokens between embedding and first trained block. Each maker below takes the
/// blocks 0 .. count-1.
class FrozenBlocks {
 public:
  virtual ~FrozenBlocks() = default;
  /// tokens [B, T, D] may be overwritten.
  virtual TrunkTokens run(at::Tensor tokens) const = 0;
};

/// The plain blocks of nn/vit.h: any type, any device.
std::unique_ptr<FrozenBlocks> make_plain_blocks(const Vit& vit, std::int64_t count);
/// CPU, float32 or bfloat16: matrices in oneDNN's layout, bias, GELU and residual sum fused into
/// the products.
std::unique_ptr<FrozenBlocks> make_packed_blocks(const Vit& vit, std::int64_t count);
/// CUDA, bfloat16: residual sum and LayerNorm in one kernel, GELU fused into the product. Null
/// where the build has no CUDA compiler or the width does not fit the kernel.
std::unique_ptr<FrozenBlocks> make_fused_cuda_blocks(const Vit& vit, std::int64_t count);

/// Layer scale is a factor on the output channels of a branch's last matrix: it goes into that
/// matrix for good.
LinearWeights with_scale(const LinearWeights& linear, const at::Tensor& scale);
/// (x - mean) / deviation without scale and shift, and the raw CLS token in float32 (or float64).
TrunkTokens split_tokens(const at::Tensor& tokens, double epsilon);
/// After `count` frozen blocks: split where one block is left, else raw.
TrunkTokens finish_tokens(const at::Tensor& tokens, const VitConfig& config, std::int64_t count);

}  // namespace protogcd
