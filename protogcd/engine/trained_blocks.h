// The blocks of a Vision Transformer that are trained: from some block to the last, and the frozen
// final norm behind them.
//
//   const Trunk trunk(vit, type, device, first_block);
//   const auto blocks = make_trained_blocks(vit, first_block, at::kFloat, device);
//   const at::Tensor features = blocks->forward(trunk.run(images));
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>

#include "protogcd/engine/trunk.h"
#include "protogcd/nn/vit.h"

namespace protogcd {

class Head;

class TrainedBlocks {
 public:
  virtual ~TrainedBlocks() = default;

  /// CLS after the final norm: tokens of B images -> [B, D]. Differentiable in the parameters.
  virtual at::Tensor forward(const TrunkTokens& tokens) const = 0;
  /// The parameters themselves, to be made trainable and changed in place, under the names of the
  /// backbone's release: "blocks.11.norm1.weight", ...
  virtual std::map<std::string, at::Tensor> named_parameters() const = 0;
  /// The same with parameters of its own, which need no gradients yet.
  virtual std::unique_ptr<TrainedBlocks> copy() const = 0;
};

/// Blocks first_block .. depth-1, copied to `type` (float32 or float64) on `device`; they take the
/// tokens of a Trunk with the same first block. The last block alone is a `Tail`, more are a
/// `PlainTail`. Throws UsageError where the model has no such block.
std::unique_ptr<TrainedBlocks> make_trained_blocks(const Vit& vit, std::int64_t first_block,
                                                   at::ScalarType type, at::Device device);

}  // namespace protogcd
