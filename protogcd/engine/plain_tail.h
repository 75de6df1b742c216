// More than one trained block: all tokens through every block but the last.
#pragma once

#include <vector>

#include "protogcd/engine/tail.h"

namespace protogcd {

/// Blocks first_block .. depth-2 over all tokens, as nn/vit.h runs them, then the last block for
/// the CLS token alone. Takes `raw` tokens.
class PlainTail : public TrainedBlocks {
 public:
  PlainTail(const Vit& vit, std::int64_t first_block, at::ScalarType type, at::Device device);

  at::Tensor forward(const TrunkTokens& tokens) const override;
  std::map<std::string, at::Tensor> named_parameters() const override;
  std::unique_ptr<TrainedBlocks> copy() const override;

 private:
  std::int64_t first_block_;
  at::ScalarType type_;
  Vit vit_;  ///< the blocks before the last that are trained, and nothing else
  Tail last_;
};

}  // namespace protogcd
