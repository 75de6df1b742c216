// What a step on a token bank, or on images that lie on the GPU, does before the model: rows of CLS
// tokens, and windows of images.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>

#include "protogcd/engine/cuda_kernels.h"

namespace protogcd {
namespace {

constexpr int kThreads = 128, kMostPerThread = 16;

/// The sum over a block's threads, in one order always.
__device__ float block_sum(float value) {
  __shared__ float parts[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xFFFFFFFF, value, offset);
  __syncthreads();  // an earlier sum may still be read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (const float part : parts) sum += part;
  return sum;
}

/// A block a row: out = c + factor (c1_j - c2_j), normed = (out - mean) / deviation.
__global__ void borrow_kernel(const float* class_tokens, const std::int64_t* other,
                              const float* factor, float* out, __nv_bfloat16* normed, int images,
                              int width, float epsilon) {
  const std::int64_t row = blockIdx.x;
  const float* own = class_tokens + row * width;
  const float* one = class_tokens + other[row] * width;
  const float* two = class_tokens + (images + other[row]) * width;
  const float strength = factor[row];
  float values[kMostPerThread];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kMostPerThread; ++i) {
    const int channel = i * kThreads + static_cast<int>(threadIdx.x);
    if (channel >= width) break;
    values[i] = own[channel] + (one[channel] - two[channel]) * strength;
    out[row * width + channel] = values[i];
    sum += values[i];
  }
  const float mean = block_sum(sum) / static_cast<float>(width);
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kMostPerThread; ++i) {
    if (i * kThreads + static_cast<int>(threadIdx.x) >= width) break;
    squares += (values[i] - mean) * (values[i] - mean);
  }
  const float scale = rsqrtf(block_sum(squares) / static_cast<float>(width) + epsilon);
#pragma unroll
  for (int i = 0; i < kMostPerThread; ++i) {
    const int channel = i * kThreads + static_cast<int>(threadIdx.x);
    if (channel >= width) break;
    normed[row * width + channel] = __float2bfloat16_rn((values[i] - mean) * scale);
  }
}

__device__ void store(float* to, float value) {
  *to = value;
}
__device__ void store(__nv_bfloat16* to, float value) {
  *to = __float2bfloat16_rn(value);
}

/// Rows of words: some blocks a row. (Rows lie along x, where a grid may be long.)
template <class Word>
__global__ void gather_kernel(const Word* from, const std::int64_t* rows, Word* to,
                              std::int64_t words) {
  const std::int64_t row = blockIdx.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; i < words;
       i += gridDim.y * blockDim.x)
    to[row * words + i] = from[rows[row] * words + i];
}

struct Channels {
  float mean[3], deviation[3];
};

/// A block a row of a window: the numbers of Normalizer.
template <class T>
__global__ void window_kernel(const std::uint8_t* pixels, const std::int64_t* windows,
                              Channels channels, T* out, int side) {
  const int y = blockIdx.y;
  const std::int64_t window = blockIdx.x, stride = windows[2 * window + 1];
  const bool flip = stride < 0;
  const std::uint8_t* line = pixels + windows[2 * window] + y * (flip ? -stride : stride);
  T* to = out + (window * 3 * side + y) * side;
  for (int x = threadIdx.x; x < side; x += blockDim.x) {
    const std::uint8_t* pixel = line + 3 * (flip ? side - 1 - x : x);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      const float value = __fdiv_rn(static_cast<float>(pixel[c]), 255.0f);
      store(to + static_cast<std::int64_t>(c) * side * side + x,
            __fdiv_rn(__fsub_rn(value, channels.mean[c]), channels.deviation[c]));
    }
  }
}

}  // namespace

bool can_borrow_on_cuda(const TrunkTokens& tokens) {
  return tokens.class_token.defined() && tokens.class_token.is_cuda() &&
         tokens.class_token.scalar_type() == at::kFloat && tokens.class_token.is_contiguous() &&
         tokens.normalised.scalar_type() == at::kBFloat16 &&
         tokens.class_token.size(1) <= kThreads * kMostPerThread;
}

void borrow_on_cuda(TrunkTokens& tokens, const at::Tensor& other, const at::Tensor& factor,
                    double epsilon) {
  const at::Tensor before = tokens.class_token;
  const c10::cuda::CUDAGuard guard(before.device());
  tokens.class_token = at::empty_like(before);
  tokens.first = at::empty(before.sizes(), tokens.normalised.options());
  const auto rows = static_cast<unsigned>(before.size(0));
  borrow_kernel<<<rows, kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      before.const_data_ptr<float>(), other.const_data_ptr<std::int64_t>(),
      factor.const_data_ptr<float>(), tokens.class_token.data_ptr<float>(),
      static_cast<__nv_bfloat16*>(tokens.first.data_ptr()), static_cast<int>(rows / 2),
      static_cast<int>(before.size(1)), static_cast<float>(epsilon));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void gather_rows_on_cuda(const void* from, std::uint64_t row_bytes, const at::Tensor& rows,
                         at::Tensor& out) {
  const c10::cuda::CUDAGuard guard(out.device());
  const auto launch = [&](auto word) {
    using Word = decltype(word);
    gather_kernel<<<dim3(static_cast<unsigned>(rows.size(0)), 16), 256, 0,
                    c10::cuda::getCurrentCUDAStream()>>>(
        static_cast<const Word*>(from), rows.const_data_ptr<std::int64_t>(),
        static_cast<Word*>(out.data_ptr()), static_cast<std::int64_t>(row_bytes / sizeof(Word)));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  };
  if (row_bytes % sizeof(uint4) == 0) {
    launch(uint4());
  } else {
    launch(std::uint16_t());  // no number here is shorter
  }
}

void cut_windows(const std::uint8_t* pixels, const at::Tensor& windows,
                 const Normalization& normalization, at::Tensor& out) {
  const c10::cuda::CUDAGuard guard(out.device());
  Channels channels{};
  for (int c = 0; c < 3; ++c) {
    channels.mean[c] = normalization.mean[static_cast<std::size_t>(c)];
    channels.deviation[c] = normalization.deviation[static_cast<std::size_t>(c)];
  }
  const int side = static_cast<int>(out.size(3));
  const dim3 blocks(static_cast<unsigned>(out.size(0)), static_cast<unsigned>(side));
  const auto stream = c10::cuda::getCurrentCUDAStream();
  const auto* places = windows.const_data_ptr<std::int64_t>();
  if (out.scalar_type() == at::kBFloat16) {
    window_kernel<<<blocks, 256, 0, stream>>>(pixels, places, channels,
                                              static_cast<__nv_bfloat16*>(out.data_ptr()), side);
  } else {
    window_kernel<<<blocks, 256, 0, stream>>>(pixels, places, channels, out.data_ptr<float>(),
                                              side);
  }
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace protogcd
