// The frozen blocks of a Vision Transformer (all but the last): no graph, fused where the machine
// has fused operations.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "protogcd/nn/vit.h"

namespace protogcd {

/// What the trainable last block needs of each image.
struct TrunkTokens {
  at::Tensor normalised;  ///< [B, T, D] in the trunk's dtype: (x - mean) / deviation of each token,
                          ///< without scale and shift
  at::Tensor class_token;  ///< [B, D] float32 (float64 in a float64 trunk): CLS as it enters the
                           ///< last block
};

/// bfloat16 where this device multiplies it fast (AVX512-BF16, AMX, CUDA), else float32.
at::ScalarType fastest_trunk_type(at::Device device);
/// `choice` is auto, float32, bfloat16 or float64 (`--dtype`).
at::ScalarType trunk_type(const std::string& choice, at::Device device);

class Trunk {
 public:
  /// Takes blocks 0 .. depth-2 of the model, converted to `type` on `device`.
  Trunk(const Vit& vit, at::ScalarType type, at::Device device);
  ~Trunk();
  Trunk(Trunk&&) noexcept;

  at::ScalarType type() const;
  /// images [B, 3, S, S] of any floating type, on any device.
  TrunkTokens run(const at::Tensor& images) const;

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

}  // namespace protogcd
