// The last transformer block for the CLS token alone, with keys and values absorbed: what training
// runs a million times.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "protogcd/engine/trunk.h"
#include "protogcd/nn/vit.h"

namespace protogcd {

/// Trainable parameters of the last block (float32 or float64) and the frozen final norm, on one
/// device.
class Tail {
 public:
  Tail(const Vit& vit, at::ScalarType type, at::Device device);

  /// CLS after the final norm: tokens of B images -> [B, D]. Differentiable in the block's
  /// parameters.
  at::Tensor forward(const TrunkTokens& tokens) const;

  const BlockWeights& block() const { return block_; }
  BlockWeights& block() { return block_; }
  /// The trained tensors under the names of the backbone's release: "blocks.11.norm1.weight", ...
  std::map<std::string, at::Tensor> named_parameters() const;

 private:
  VitConfig config_;
  BlockWeights block_;
  NormWeights final_norm_;
};

}  // namespace protogcd
