// Attention of one query per head over tokens that are not trained: the only part of the tail that
// touches every token.
#pragma once

#include <ATen/core/Tensor.h>

namespace protogcd {

/// Tokens of B images, where they lie.
struct PooledRows {
  at::Tensor tokens;      ///< [B, T, D] of any floating type; with `rows`: [N, T, D]
  at::Tensor rows = {};   ///< [B] int64: image b's tokens are tokens[rows[b]]; undefined: tokens[b]
  at::Tensor first = {};  ///< [B, D] in the tokens' type instead of each image's token 0
};

/// sum_t softmax_t(q_h . n_t) n_t: queries [B, H, D] (float32 or float64) -> [B, H, D] in the
/// queries' type. Differentiable in the queries alone. Products are rounded to the tokens' type, as
/// a matrix product of that type does.
at::Tensor pooled_tokens(const at::Tensor& queries, const PooledRows& rows);

/// The same by ordinary operations, on any device. tokens: [B, T, D].
at::Tensor pooled_tokens_plainly(const at::Tensor& queries, const at::Tensor& tokens);

/// Whether this CPU has the instructions of the fast way (AVX512-BF16).
bool has_fast_pooled_tokens();

}  // namespace protogcd
