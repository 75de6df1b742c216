// Kernels of our own for CUDA, behind a plain function each.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

#include "protogcd/engine/pooled_tokens.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/image/transform.h"

namespace protogcd {

/// Widths the kernel takes: multiples of 8 up to this.
constexpr std::int64_t kWidestResidualNorm = 2048;

/// In one pass over memory: x += branch (where there is one), normed = (x - mean) / deviation *
/// scale + shift (where there are scale and shift). x, branch and the result are [rows, D]
/// bfloat16, scale and shift [D] bfloat16.
at::Tensor residual_norm(at::Tensor& x, const at::Tensor& branch, const at::Tensor& scale,
                         const at::Tensor& shift, double epsilon);

/// Whether the two functions below take these: float32 queries, bfloat16 tokens, up to 16 heads,
/// channels a multiple of 64, and no more tokens than a block of threads can keep scores of.
bool can_pool_on_cuda(const at::Tensor& queries, const PooledRows& rows);
/// pooled_tokens, and its softmax [B, H, T].
std::pair<at::Tensor, at::Tensor> pool_on_cuda(const at::Tensor& queries, const PooledRows& rows);
/// The gradient of the queries. gradient: [B, H, D].
at::Tensor pool_gradient_on_cuda(const at::Tensor& gradient, const PooledRows& rows,
                                 const at::Tensor& shares);

/// Borrowed differences (borrowed_views.h) as one kernel, into new tensors: `class_token` and
/// `first`. For tokens of a bfloat16 trunk up to 2048 wide.
bool can_borrow_on_cuda(const TrunkTokens& tokens);
void borrow_on_cuda(TrunkTokens& tokens, const at::Tensor& other, const at::Tensor& factor,
                    double epsilon);

/// out[i] = from[rows[i]]. `from`: rows of `row_bytes`, in pinned memory of the host or on the
/// device.
void gather_rows_on_cuda(const void* from, std::uint64_t row_bytes, const at::Tensor& rows,
                         at::Tensor& out);

/// Windows of 8-bit images as network input: out [M, 3, S, S], bfloat16 or float32. windows [M, 2]
/// int64: the place of the window's first byte in `pixels`, and the bytes of an image's line,
/// negative where the window is mirrored. `pixels` may be pinned memory of the host.
void cut_windows(const std::uint8_t* pixels, const at::Tensor& windows,
                 const Normalization& normalization, at::Tensor& out);

}  // namespace protogcd
