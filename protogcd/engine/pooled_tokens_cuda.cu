// pooled_tokens on CUDA: a block of threads an image, both products on tensor cores, and the tokens
// read where they lie, so that a step on a token bank never copies them.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>

#include "protogcd/engine/cuda_kernels.h"

namespace protogcd {
namespace {

constexpr int kLanes = 32, kMostWarps = 12;
constexpr int kHeadRows = 16;         // of a tensor core's tile: heads, then zeros
constexpr int kTile = 8, kSlab = 64;  // tokens of a score tile, channels of a sum's slab
constexpr int kQueryPad = 32;         // bfloat16 numbers: two rows then lie in different banks
constexpr int kWeightPad = 8;

int padded(int tokens) {
  return (tokens + kHeadRows - 1) / kHeadRows * kHeadRows;
}

/// What a block keeps: queries [16, D + pad] and weights [16, T' + pad] in bfloat16, and scores
/// [16, T'].
std::size_t shared_bytes(int tokens, int width) {
  const int count = padded(tokens);
  return kHeadRows *
         (sizeof(__nv_bfloat16) * (width + kQueryPad + count + kWeightPad) + sizeof(float) * count);
}

struct TokenTable {
  const __nv_bfloat16* all;    ///< [N, T, D]
  const std::int64_t* rows;    ///< [B], or null: row b is b
  const __nv_bfloat16* first;  ///< [B, D] instead of each image's token 0, or null
  int tokens, width;
};

/// A [B, H, D] tensor whose last dimension is dense.
template <class T>
struct Rows {
  T* data;
  std::int64_t image_stride, head_stride;
  __device__ T* at(int image, int head) const {
    return data + image * image_stride + head * head_stride;
  }
};

/// c += a b of one 16 x 8 tile over 16 numbers.
__device__ void multiply_add(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                             unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ float warp_sum(float value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xFFFFFFFF, value, offset);
  return value;
}

__device__ float warp_max(float value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFF, value, offset));
  return value;
}

/// Forward: queries are q, shares p = softmax(q . n_t) are written, out = sum_t p_t n_t.
/// Backward: queries are the gradient g of `out`, shares are read, and out is the gradient of q:
///   sum_t p_t (g . n_t - sum_s p_s g . n_s) n_t
template <bool kBackward>
__global__ void __launch_bounds__(kMostWarps* kLanes, 2)
    pool_kernel(Rows<const float> queries, TokenTable table, int heads, float* shares,
                Rows<float> out) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int tokens = table.tokens, width = table.width,
            count = (tokens + kHeadRows - 1) / kHeadRows * kHeadRows;
  const int query_stride = width + kQueryPad, weight_stride = count + kWeightPad;
  auto* query = reinterpret_cast<__nv_bfloat16*>(shared);
  auto* weights = query + kHeadRows * query_stride;
  auto* scores = reinterpret_cast<float*>(weights + kHeadRows * weight_stride);

  const int image = blockIdx.x, warps = blockDim.x / kLanes, warp = threadIdx.x / kLanes,
            lane = threadIdx.x % kLanes;
  const int group = lane / 4, member = lane % 4;  // of the tile's layout in registers
  const std::int64_t row = table.rows != nullptr ? table.rows[image] : image;
  const __nv_bfloat16* tokens_of_image = table.all + row * tokens * width;
  const auto token_row = [&](int token) {
    if (token == 0 && table.first != nullptr)
      return table.first + static_cast<std::int64_t>(image) * width;
    return tokens_of_image + static_cast<std::int64_t>(min(token, tokens - 1)) * width;
  };

  for (int i = threadIdx.x; i < kHeadRows * width; i += blockDim.x) {
    const int head = i / width, channel = i % width;
    query[head * query_stride + channel] =
        __float2bfloat16_rn(head < heads ? queries.at(image, head)[channel] : 0.0f);
  }
  __syncthreads();

  // Scores: tiles of 16 heads x 8 tokens. A lane loads 8 neighbouring channels of its token at
  // once; a sum over channels may take them in any order, as long as queries and tokens agree on
  // it.
  const __nv_bfloat16* one = query + group * query_stride + member * 8;
  const __nv_bfloat16* other = one + 8 * query_stride;
  for (int tile = warp; tile < count / kTile; tile += warps) {
    const __nv_bfloat16* n = token_row(tile * kTile + group) + member * 8;
    float sums[4] = {};
#pragma unroll 6
    for (int k = 0; k < width; k += 32) {
      const uint4 b = *reinterpret_cast<const uint4*>(n + k);
      const uint4 a = *reinterpret_cast<const uint4*>(one + k),
                  a8 = *reinterpret_cast<const uint4*>(other + k);
      multiply_add(sums, a.x, a8.x, a.y, a8.y, b.x, b.y);
      multiply_add(sums, a.z, a8.z, a.w, a8.w, b.z, b.w);
    }
    const int column = tile * kTile + member * 2;
    scores[group * count + column] = sums[0];
    scores[group * count + column + 1] = sums[1];
    scores[(group + 8) * count + column] = sums[2];
    scores[(group + 8) * count + column + 1] = sums[3];
  }
  __syncthreads();

  // Scores to weights, a warp a head.
  for (int head = warp; head < kHeadRows; head += warps) {
    float* score = scores + head * count;
    float* share = shares + (static_cast<std::int64_t>(image) * heads + head) * tokens;
    float factor = 0, shift = 0;
    if (head < heads) {
      if constexpr (kBackward) {
        for (int t = lane; t < tokens; t += kLanes) shift += share[t] * score[t];
        shift = warp_sum(shift);
      } else {
        float highest = -INFINITY, sum = 0;
        for (int t = lane; t < tokens; t += kLanes) highest = fmaxf(highest, score[t]);
        highest = warp_max(highest);
        for (int t = lane; t < tokens; t += kLanes) sum += score[t] = expf(score[t] - highest);
        factor = 1 / warp_sum(sum);
      }
    }
    for (int t = lane; t < count; t += kLanes) {
      float weight = 0;
      if (head < heads && t < tokens) {
        weight = kBackward ? share[t] * (score[t] - shift) : score[t] * factor;
        if constexpr (!kBackward) share[t] = weight;
      }
      weights[head * weight_stride + t] = __float2bfloat16_rn(weight);
    }
  }
  __syncthreads();

  // Weighted sums: slabs of 16 heads x 64 channels over 16 tokens at a time. A lane loads 8
  // channels of 4 tokens and pairs neighbouring tokens' numbers, so that its 8 channels are one
  // column each of 8 tiles.
  const unsigned* weight =
      reinterpret_cast<const unsigned*>(weights + group * weight_stride + member * 2);
  const int eight_rows = 8 * weight_stride / 2;
  for (int slab = warp; slab < width / kSlab; slab += warps) {
    const int channel = slab * kSlab + group * 8;
    float sums[8][4] = {};
#pragma unroll 2
    for (int t = 0; t < count; t += 16) {
      uint4 x[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        x[i] = *reinterpret_cast<const uint4*>(token_row(t + member * 2 + (i % 2) + (i / 2) * 8) +
                                               channel);
      const unsigned a0 = weight[t / 2], a1 = weight[t / 2 + eight_rows], a2 = weight[t / 2 + 4],
                     a3 = weight[t / 2 + 4 + eight_rows];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const unsigned y[4] = {(&x[0].x)[j], (&x[1].x)[j], (&x[2].x)[j], (&x[3].x)[j]};
        multiply_add(sums[2 * j], a0, a1, a2, a3, __byte_perm(y[0], y[1], 0x5410),
                     __byte_perm(y[2], y[3], 0x5410));
        multiply_add(sums[2 * j + 1], a0, a1, a2, a3, __byte_perm(y[0], y[1], 0x7632),
                     __byte_perm(y[2], y[3], 0x7632));
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int head = group + 8 * half;
      if (head >= heads) continue;
      float* to = out.at(image, head) + slab * kSlab + member * 16;
#pragma unroll
      for (int i = 0; i < 16; i += 4) {
        const int column = i / 8, j = i % 8;
        *reinterpret_cast<float4*>(to + i) = {
            sums[j][2 * half + column], sums[j + 1][2 * half + column],
            sums[j + 2][2 * half + column], sums[j + 3][2 * half + column]};
      }
    }
  }
}

/// Bytes that a block of threads can share.
std::size_t most_shared(at::Device device) {
  int bytes = 0;
  C10_CUDA_CHECK(
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index()));
  return static_cast<std::size_t>(bytes);
}

template <bool kBackward>
at::Tensor run_pool(const at::Tensor& queries, const PooledRows& rows, at::Tensor& shares) {
  const c10::cuda::CUDAGuard guard(queries.device());
  const at::Tensor q = queries.stride(2) == 1 ? queries : queries.contiguous();
  const int batch = static_cast<int>(q.size(0)), heads = static_cast<int>(q.size(1)),
            width = static_cast<int>(q.size(2)), tokens = static_cast<int>(rows.tokens.size(1));
  // Heads outermost, as the products around this one have them.
  at::Tensor out = at::empty({heads, batch, width}, q.options()).transpose(0, 1);
  const TokenTable table{static_cast<const __nv_bfloat16*>(rows.tokens.const_data_ptr()),
                         rows.rows.defined() ? rows.rows.const_data_ptr<std::int64_t>() : nullptr,
                         rows.first.defined()
                             ? static_cast<const __nv_bfloat16*>(rows.first.const_data_ptr())
                             : nullptr,
                         tokens, width};
  const std::size_t bytes = shared_bytes(tokens, width);
  C10_CUDA_CHECK(cudaFuncSetAttribute(pool_kernel<kBackward>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(bytes)));
  const int warps = std::clamp(width / kSlab, 4, kMostWarps);
  pool_kernel<kBackward><<<batch, warps * kLanes, bytes, c10::cuda::getCurrentCUDAStream()>>>(
      {q.const_data_ptr<float>(), q.stride(0), q.stride(1)}, table, heads, shares.data_ptr<float>(),
      {out.data_ptr<float>(), out.stride(0), out.stride(1)});
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

}  // namespace

bool can_pool_on_cuda(const at::Tensor& queries, const PooledRows& rows) {
  return queries.is_cuda() && queries.scalar_type() == at::kFloat &&
         rows.tokens.scalar_type() == at::kBFloat16 && rows.tokens.is_cuda() &&
         rows.tokens.is_contiguous() && queries.size(1) <= kHeadRows &&
         queries.size(2) % kSlab == 0 &&
         shared_bytes(static_cast<int>(rows.tokens.size(1)), static_cast<int>(queries.size(2))) <=
             most_shared(queries.device());
}

std::pair<at::Tensor, at::Tensor> pool_on_cuda(const at::Tensor& queries, const PooledRows& rows) {
  at::Tensor shares =
      at::empty({queries.size(0), queries.size(1), rows.tokens.size(1)}, queries.options());
  at::Tensor out = run_pool<false>(queries, rows, shares);
  return {out, shares};
}

at::Tensor pool_gradient_on_cuda(const at::Tensor& gradient, const PooledRows& rows,
                                 const at::Tensor& shares) {
  at::Tensor read_only = shares;
  return run_pool<true>(gradient, rows, read_only);
}

}  // namespace protogcd
