// Kernels of our own for CUDA, behind a plain function each.
#pragma once

#include <ATen/core/Tensor.h>

namespace protogcd {

/// Widths the kernel takes: multiples of 8 up to this.
constexpr std::int64_t kWidestResidualNorm = 2048;

/// In one pass over memory: x += branch (where there is one), normed = (x - mean) / deviation *
/// scale + shift (where there are scale and shift). x, branch and the result are [rows, D]
/// bfloat16, scale and shift [D] bfloat16.
at::Tensor residual_norm(at::Tensor& x, const at::Tensor& branch, const at::Tensor& scale,
                         const at::Tensor& shift, double epsilon);

}  // namespace protogcd
