// The frozen blocks of a Vision Transformer (by default all but the last): no graph, fused where
// the machine has fused operations.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "protogcd/nn/vit.h"

namespace protogcd {

/// What the trained blocks need of each image: `normalised` and `class_token` where the last block
/// alone is trained, `raw` where more are. The others are undefined.
///
/// Tokens of a bank may stay where they lie: with `rows`, `normalised` is the whole bank.
struct TrunkTokens {
  at::Tensor normalised;  ///< [B, T, D] in the trunk's dtype: (x - mean) / deviation of each token,
                          ///< without scale and shift
  at::Tensor class_token;  ///< [B, D] float32 (float64 in a float64 trunk): CLS as it enters the
                           ///< last block
  at::Tensor raw;  ///< [B, T, D] in the trunk's dtype: tokens as they enter the first trained block
  at::Tensor rows = {};   ///< [B] int64: image b's tokens are normalised[rows[b]]
  at::Tensor first = {};  ///< [B, D] in the trunk's dtype: instead of each image's normalised CLS
};

/// What the tokens themselves take in memory, without `rows` and `first`.
std::uint64_t bytes_of(const TrunkTokens& tokens);

/// bfloat16 where this device multiplies it fast (AVX512-BF16, AMX, CUDA), else float32.
at::ScalarType fastest_trunk_type(at::Device device);
/// `choice` is auto, float32, tf32 (float32 numbers), bfloat16 or float64 (`--dtype`).
at::ScalarType trunk_type(const std::string& choice, at::Device device);

/// UsageError unless the model has this block (`--grad-from-block`).
void check_first_trained_block(const VitConfig& config, std::int64_t first_block);

class Trunk {
 public:
  /// Takes the blocks before `first_trained_block` (the last one if not given; 0: the embedding
  /// alone is frozen), converted to `type` on `device`. Throws UsageError where the model has no
  /// such block.
  Trunk(const Vit& vit, at::ScalarType type, at::Device device,
        std::optional<std::int64_t> first_trained_block = {});
  ~Trunk();
  Trunk(Trunk&&) noexcept;

  at::ScalarType type() const;
  /// images [B, 3, S, S] of any floating type, on any device. After the first run on
  /// images of a shape no memory is allocated for tensors, if the caller lets go of the tokens of
  /// earlier runs (buffer_pool_test holds it; on CUDA, libtorch's own pool).
  TrunkTokens run(const at::Tensor& images) const;

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

/// Many images, `batch` of them at a time: the memory of the blocks is that of one batch.
TrunkTokens run_in_batches(const Trunk& trunk, const at::Tensor& images, std::int64_t batch);

}  // namespace protogcd
