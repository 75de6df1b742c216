// Attention of all heads on the CPU, from the product of tokens and qkv matrix to what the
// projection takes.
#pragma once

#include <ATen/core/Tensor.h>

namespace protogcd {

/// libtorch's: qkv [B, T, 3 * heads * head width] of any type -> [B, T, heads * head width].
at::Tensor attend_plain(const at::Tensor& qkv, std::int64_t heads);

/// Whether this machine and this type and width of a head have a kernel of our own. libtorch's
/// stays in use on CPUs with AMX, which it has kernels for.
bool has_attention_kernel(const at::Tensor& qkv, std::int64_t heads);
/// The same by our kernel; only where there is one. qkv is contiguous.
at::Tensor attend_by_kernel(const at::Tensor& qkv, std::int64_t heads);

/// The faster one.
at::Tensor attend(const at::Tensor& qkv, std::int64_t heads);

}  // namespace protogcd
