#include "protogcd/engine/plain_tail.h"

#include <ATen/ATen.h>

#include "protogcd/core/error.h"
#include "protogcd/engine/frozen_blocks.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

/// The model without its tensors, except own copies of blocks first .. depth-2.
Vit with_blocks_only(Vit vit, std::int64_t first, at::ScalarType type, at::Device device) {
  VitWeights kept;
  kept.blocks.resize(vit.weights().blocks.size());
  for (std::int64_t i = first; i + 1 < vit.config().depth; ++i)
    kept.blocks[i] = copied(vit.weights().blocks[i], type, device);
  vit.weights() = std::move(kept);
  return vit;
}

}  // namespace

PlainTail::PlainTail(const Vit& vit, std::int64_t first_block, at::ScalarType type,
                     at::Device device)
    : first_block_(first_block),
      type_(type),
      vit_(with_blocks_only(vit, first_block, type, device)),
      last_(vit, type, device) {}

at::Tensor PlainTail::forward(const TrunkTokens& tokens) const {
  if (!tokens.raw.defined()) throw InternalError("PlainTail: tokens of a trunk that ran too far");
  at::Tensor x = tokens.raw.to(type_);  // [B, T, D]
  for (std::int64_t i = first_block_; i + 1 < vit_.config().depth; ++i) x = vit_.block(i, x);
  return last_.forward(split_tokens(x, vit_.config().epsilon));
}

std::map<std::string, at::Tensor> PlainTail::named_parameters() const {
  auto parameters = last_.named_parameters();
  for (std::int64_t i = first_block_; i + 1 < vit_.config().depth; ++i)
    parameters.merge(named_tensors(vit_.weights().blocks[i], vit_.config(), i));
  return parameters;
}

std::unique_ptr<TrainedBlocks> PlainTail::copy() const {
  const at::Device device = last_.block().qkv.weight.device();
  auto other = std::make_unique<PlainTail>(*this);
  other->vit_ = with_blocks_only(vit_, first_block_, type_, device);
  other->last_.block() = copied(last_.block(), type_, device);
  return other;
}

std::unique_ptr<TrainedBlocks> make_trained_blocks(const Vit& vit, std::int64_t first_block,
                                                   at::ScalarType type, at::Device device) {
  check_first_trained_block(vit.config(), first_block);
  if (first_block + 1 == vit.config().depth) return std::make_unique<Tail>(vit, type, device);
  return std::make_unique<PlainTail>(vit, first_block, type, device);
}

}  // namespace protogcd
