#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>

#include "protogcd/engine/cuda_kernels.h"

namespace protogcd {
namespace {

constexpr int kLanes = 32, kVector = 8, kRowsPerBlock = 8;  // a warp a row, 16 bytes a load

struct alignas(16) Vector {
  __nv_bfloat162 pairs[kVector / 2];
};

__device__ float warp_sum(float value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xFFFFFFFF, value, offset);
  return value;
}

/// kPerLane vectors of 8 channels stay in each lane's registers, so that a row is read once.
template <int kPerLane>
__global__ void residual_norm_kernel(Vector* x, const Vector* branch, const Vector* scale,
                                     const Vector* shift, Vector* normed, long rows, int vectors,
                                     float epsilon) {
  const long row = static_cast<long>(blockIdx.x) * kRowsPerBlock + threadIdx.y;
  if (row >= rows) return;
  const long first = row * vectors;
  float values[kPerLane][kVector];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int at = i * kLanes + threadIdx.x;
    if (at >= vectors) continue;
    Vector own = x[first + at];
    if (branch != nullptr) {
      const Vector added = branch[first + at];
#pragma unroll
      for (int k = 0; k < kVector / 2; ++k) own.pairs[k] = __hadd2(own.pairs[k], added.pairs[k]);
      x[first + at] = own;
    }
#pragma unroll
    for (int k = 0; k < kVector / 2; ++k) {
      const float2 pair = __bfloat1622float2(own.pairs[k]);
      values[i][2 * k] = pair.x;
      values[i][2 * k + 1] = pair.y;
      sum += pair.x + pair.y;
    }
  }
  const float channels = static_cast<float>(vectors * kVector);
  const float mean = warp_sum(sum) / channels;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    if (i * kLanes + threadIdx.x >= vectors) continue;
#pragma unroll
    for (int k = 0; k < kVector; ++k) squares += (values[i][k] - mean) * (values[i][k] - mean);
  }
  const float factor = rsqrtf(warp_sum(squares) / channels + epsilon);
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int at = i * kLanes + threadIdx.x;
    if (at >= vectors) continue;
    Vector result;
    const Vector gamma = scale != nullptr ? scale[at] : Vector{},
                 beta = scale != nullptr ? shift[at] : Vector{};
#pragma unroll
    for (int k = 0; k < kVector / 2; ++k) {
      float2 pair = {(values[i][2 * k] - mean) * factor, (values[i][2 * k + 1] - mean) * factor};
      if (scale != nullptr) {
        const float2 g = __bfloat1622float2(gamma.pairs[k]), b = __bfloat1622float2(beta.pairs[k]);
        pair = {pair.x * g.x + b.x, pair.y * g.y + b.y};
      }
      result.pairs[k] = __floats2bfloat162_rn(pair.x, pair.y);
    }
    normed[first + at] = result;
  }
}

Vector* vectors_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<Vector*>(tensor.data_ptr()) : nullptr;
}

}  // namespace

at::Tensor residual_norm(at::Tensor& x, const at::Tensor& branch, const at::Tensor& scale,
                         const at::Tensor& shift, double epsilon) {
  const c10::cuda::CUDAGuard guard(x.device());
  at::Tensor normed = at::empty_like(x);
  const std::int64_t width = x.size(-1), rows = x.numel() / width;
  const int vectors = static_cast<int>(width / kVector);
  const dim3 threads(kLanes, kRowsPerBlock),
      blocks(static_cast<unsigned>((rows + kRowsPerBlock - 1) / kRowsPerBlock));
  const auto launch = [&](auto per_lane) {
    residual_norm_kernel<decltype(per_lane)::value>
        <<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
            vectors_of(x), vectors_of(branch), vectors_of(scale), vectors_of(shift),
            vectors_of(normed), rows, vectors, static_cast<float>(epsilon));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  };
  switch ((vectors + kLanes - 1) / kLanes) {
    case 1:
      launch(std::integral_constant<int, 1>());
      break;
    case 2:
      launch(std::integral_constant<int, 2>());
      break;
    case 3:
      launch(std::integral_constant<int, 3>());
      break;
    case 4:
      launch(std::integral_constant<int, 4>());
      break;
    default:
      launch(std::integral_constant<int, 8>());
      break;
  }
  return normed;
}

}  // namespace protogcd
