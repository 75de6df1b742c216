// The last transformer block for the CLS token alone, with keys and values absorbed: what training
// runs a million times.
#pragma once

#include <ATen/core/Tensor.h>

#include "protogcd/engine/trained_blocks.h"

namespace protogcd {

/// Trainable parameters of the last block (float32 or float64) and the frozen final norm, on one
/// device.
class Tail : public TrainedBlocks {
 public:
  Tail(const Vit& vit, at::ScalarType type, at::Device device);

  at::Tensor forward(const TrunkTokens& tokens) const override;

  const BlockWeights& block() const { return block_; }
  BlockWeights& block() { return block_; }
  std::map<std::string, at::Tensor> named_parameters() const override;
  std::unique_ptr<TrainedBlocks> copy() const override;

 private:
  VitConfig config_;
  BlockWeights block_;
  NormWeights final_norm_;
};

}  // namespace protogcd
