// Attention of one query per head over tokens that are not trained: the only part of the tail that
// touches every token.
#pragma once

#include <ATen/core/Tensor.h>

namespace protogcd {

/// sum_t softmax_t(q_h . n_t) n_t: queries [B, H, D] (float32 or float64), tokens [B, T, D] of any
/// floating type -> [B, H, D] in the queries' type. Differentiable in the queries alone. Products
/// are rounded to the tokens' type, as a matrix product of that type does.
at::Tensor pooled_tokens(const at::Tensor& queries, const at::Tensor& tokens);

/// The same by ordinary operations, on any device.
at::Tensor pooled_tokens_plainly(const at::Tensor& queries, const at::Tensor& tokens);

/// Whether this CPU has the instructions of the fast way (AVX512-BF16).
bool has_fast_pooled_tokens();

}  // namespace protogcd
