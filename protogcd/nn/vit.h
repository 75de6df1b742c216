// The Vision Transformer, plain: every block and every token, in the dtype of its weights. The fast
// paths of the engine are tested against it.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "protogcd/nn/state_dict.h"
#include "protogcd/nn/vit_config.h"

namespace protogcd {

struct NormWeights {
  at::Tensor weight, bias;  ///< [D]
};

struct LinearWeights {
  at::Tensor weight;  ///< [out, in]
  at::Tensor bias;    ///< [out]
};

/// One transformer block. `in` and `out` are fc1 and fc2 of the MLP, or w12 and w3 of the gated
/// one.
struct BlockWeights {
  NormWeights norm1, norm2;
  LinearWeights qkv, projection, in, out;
  at::Tensor scale1, scale2;  ///< [D], layer scale; undefined where the model has none
};

/// Copies that share no memory with the source.
NormWeights copied(const NormWeights& norm, at::ScalarType type, at::Device device);
BlockWeights copied(const BlockWeights& block, at::ScalarType type, at::Device device);
/// The tensors of block i themselves, under the names of the release: "blocks.11.norm1.weight",
/// ...
std::map<std::string, at::Tensor> named_tensors(const BlockWeights& block, const VitConfig& config,
                                                std::int64_t i);

struct VitWeights {
  at::Tensor class_token;      ///< [1, 1, D]
  at::Tensor positions;        ///< [1, grid*grid (+1), D]
  at::Tensor register_tokens;  ///< [1, R, D], undefined where there are none
  LinearWeights patches;       ///< weight [D, 3, P, P]
  std::vector<BlockWeights> blocks;
  NormWeights norm;
};

class Vit;
/// The model's own tensors, all of them, under the names of the release.
std::map<std::string, at::Tensor> named_tensors(const Vit& vit);
/// The same model with other blocks from `first` on, in `type`: `tensors` has all of theirs, by
/// those names. Shares the rest with `vit`.
Vit with_blocks(const Vit& vit, std::int64_t first, at::ScalarType type,
                const std::map<std::string, at::Tensor>& tensors);

class Vit {
 public:
  /// Takes the tensors by their release names (vit_names.h), converted to `type` on `device`.
  /// Throws ModelFileError that lists all that is missing or wrongly shaped.
  Vit(const VitConfig& config, const StateDict& state, at::ScalarType type = at::kFloat,
      at::Device device = at::kCPU);

  /// The same model in another type or on another device.
  Vit converted(at::ScalarType type, at::Device device) const;

  const VitConfig& config() const { return config_; }
  const VitWeights& weights() const { return weights_; }
  VitWeights& weights() { return weights_; }
  /// Tensors of the file that the model does not use.
  const std::vector<std::string>& unused() const { return unused_; }

  /// Patches, CLS, registers and positions: images [B, 3, H, W], H and W multiples of the patch ->
  /// [B, T, D].
  at::Tensor embed(const at::Tensor& images) const;
  /// What block i's attention adds to its input, and what its MLP adds to that: [B, T, D] -> [B, T,
  /// D].
  at::Tensor attention_branch(std::int64_t i, const at::Tensor& tokens) const;
  at::Tensor mlp_branch(std::int64_t i, const at::Tensor& tokens) const;
  /// Block i: [B, T, D] -> [B, T, D].
  at::Tensor block(std::int64_t i, const at::Tensor& tokens) const;
  /// Softmax of block i's attention on its input: [B, T, D] -> [B, heads, T, T].
  at::Tensor attention(std::int64_t i, const at::Tensor& tokens) const;
  at::Tensor final_norm(const at::Tensor& tokens) const;
  /// All tokens after the final norm: [B, 3, H, W] -> [B, T, D].
  at::Tensor forward_tokens(const at::Tensor& images) const;
  /// The CLS token after the final norm: [B, 3, H, W] -> [B, D].
  at::Tensor forward(const at::Tensor& images) const;
  /// Position embedding for a grid of rows x columns patches, as the release fits it: [1,
  /// rows*columns (+1), D].
  at::Tensor positions_for(std::int64_t rows, std::int64_t columns) const;

 private:
  VitConfig config_;
  VitWeights weights_;
  std::vector<std::string> unused_;
};

}  // namespace protogcd
