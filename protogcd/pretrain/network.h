// The Vision Transformer that is pre-trained: all of it, from random weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "protogcd/engine/placement.h"
#include "protogcd/nn/vit.h"

namespace protogcd {

/// Random tensors of a ViT: matrices, CLS and positions normal with deviation 0.02 (the patches'
/// by their number of inputs), biases 0, scales 1.
StateDict initial_vit_state(const VitConfig& config, std::uint64_t seed);

class PretrainNetwork {
 public:
  /// Weights are float32 (float64 where the placement says so); where it computes in bfloat16,
  /// matrix products alone do, on copies of the weights.
  PretrainNetwork(const VitConfig& config, const Placement& placement, double drop_path,
                  std::uint64_t seed);

  const Vit& vit() const { return vit_; }
  std::map<std::string, at::Tensor> named_parameters() const { return named_tensors(vit_); }

  /// Uniform numbers that drop path takes for each image.
  std::int64_t drop_numbers() const { return drop_path_ > 0 ? 2 * vit_.config().depth : 0; }
  /// How likely a branch of block i is left out: none of the first block's, `drop_path` of the
  /// last's, evenly between.
  double drop_rate(std::int64_t i) const;

  /// CLS after the final norm, [B, 3, S, S] -> [B, D] in the weights' type, with a graph where
  /// gradients are on. With drop path, `numbers` [B, drop_numbers()] decide which branches of an
  /// image are left out; those that stay grow, so that the mean does not change. Undefined: none
  /// is left out, as at evaluation.
  at::Tensor features(const at::Tensor& images, const at::Tensor& numbers = {}) const;

 private:
  at::Tensor dropped(const at::Tensor& branch, const at::Tensor& factors, std::int64_t i) const;

  Placement placement_;
  double drop_path_;
  Vit vit_;
  at::Tensor rates_;  ///< [2 * depth]: of each block's two branches
};

}  // namespace protogcd
