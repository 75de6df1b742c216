#include "protogcd/engine/pooled_tokens.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "protogcd/engine/cuda_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define PROTOGCD_AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#endif

namespace protogcd {

at::Tensor pooled_tokens_plainly(const at::Tensor& queries, const at::Tensor& tokens) {
  const at::ScalarType exact = queries.scalar_type(), type = tokens.scalar_type();
  const at::Tensor scores =
      at::matmul(queries.to(type), tokens.transpose(1, 2)).to(exact);  // [B, H, T]
  return at::matmul(at::softmax(scores, -1).to(type), tokens).to(exact);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// [B, T, D]: what the rows name, as one tensor.
at::Tensor gathered(const PooledRows& rows) {
  at::Tensor tokens = rows.rows.defined() ? rows.tokens.index_select(0, rows.rows) : rows.tokens;
  if (!rows.first.defined()) return tokens;
  if (!rows.rows.defined()) tokens = tokens.clone();
  tokens.select(1, 0).copy_(rows.first);
  return tokens;
}

#ifdef PROTOGCD_WITH_CUDA

class PooledOnCuda : public torch::autograd::Function<PooledOnCuda> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries,
                            const PooledRows& rows) {
    auto [out, shares] = pool_on_cuda(queries, rows);
    context->save_for_backward({rows.tokens, rows.rows, rows.first, shares});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {pool_gradient_on_cuda(gradients[0], {saved[0], saved[1], saved[2]}, saved[3]),
            at::Tensor()};
  }
};

bool is_on_cuda(const at::Tensor& queries, const PooledRows& rows) {
  return can_pool_on_cuda(queries, rows);
}

at::Tensor pooled_on_cuda(const at::Tensor& queries, const PooledRows& rows) {
  return PooledOnCuda::apply(queries, rows);
}

#else

bool is_on_cuda(const at::Tensor&, const PooledRows&) {
  return false;
}

at::Tensor pooled_on_cuda(const at::Tensor&, const PooledRows&) {
  return {};
}

#endif

}  // namespace

#if defined(__x86_64__)

bool has_fast_pooled_tokens() {
  return __builtin_cpu_supports("avx512bf16") != 0;
}

namespace {

constexpr std::int64_t kLanes = 32;  // bfloat16 numbers of a register

std::uint16_t rounded(float value) {
  return c10::BFloat16(value).x;
}

PROTOGCD_AVX512_BF16 inline __m512bh load(const std::uint16_t* from) {
  return (__m512bh)_mm512_loadu_si512(from);
}

/// The sums of every fourth number. (Masked, as GCC 12 warns of the other form.)
PROTOGCD_AVX512_BF16 inline __m128 quarter_sums(__m512 x) {
  constexpr __mmask8 kAll = 0xF;
  const __m128 low = _mm_add_ps(_mm512_maskz_extractf32x4_ps(kAll, x, 0),
                                _mm512_maskz_extractf32x4_ps(kAll, x, 1));
  return _mm_add_ps(low, _mm_add_ps(_mm512_maskz_extractf32x4_ps(kAll, x, 2),
                                    _mm512_maskz_extractf32x4_ps(kAll, x, 3)));
}

/// The sum of a register's numbers, of four registers at once.
PROTOGCD_AVX512_BF16 inline __m128 sums_of(__m512 a, __m512 b, __m512 c, __m512 d) {
  return _mm_hadd_ps(_mm_hadd_ps(quarter_sums(a), quarter_sums(b)),
                     _mm_hadd_ps(quarter_sums(c), quarter_sums(d)));
}

/// out[h][t] = q_h . n_t for kHeads heads: q [kHeads, D], n [T, D], rows of `out` are `tokens`
/// long.
template <int kHeads>
PROTOGCD_AVX512_BF16 void dot_products(const std::uint16_t* q, const std::uint16_t* n,
                                       std::int64_t tokens, std::int64_t width, float* out) {
  for (std::int64_t t = 0; t < tokens; t += 4) {
    const std::int64_t count = std::min<std::int64_t>(4, tokens - t);
    const std::uint16_t* rows[4];
    for (std::int64_t i = 0; i < 4; ++i) rows[i] = n + (t + std::min(i, count - 1)) * width;
    __m512 sums[kHeads][4];
    for (int h = 0; h < kHeads; ++h) {
      for (int i = 0; i < 4; ++i) sums[h][i] = _mm512_setzero_ps();
    }
    for (std::int64_t d = 0; d < width; d += kLanes) {
      const __m512bh x0 = load(rows[0] + d), x1 = load(rows[1] + d), x2 = load(rows[2] + d),
                     x3 = load(rows[3] + d);
      for (int h = 0; h < kHeads; ++h) {
        const __m512bh y = load(q + h * width + d);
        sums[h][0] = _mm512_dpbf16_ps(sums[h][0], x0, y);
        sums[h][1] = _mm512_dpbf16_ps(sums[h][1], x1, y);
        sums[h][2] = _mm512_dpbf16_ps(sums[h][2], x2, y);
        sums[h][3] = _mm512_dpbf16_ps(sums[h][3], x3, y);
      }
    }
    for (int h = 0; h < kHeads; ++h) {
      const __m128 four = sums_of(sums[h][0], sums[h][1], sums[h][2], sums[h][3]);
      _mm_mask_storeu_ps(out + h * tokens + t, static_cast<__mmask8>((1 << count) - 1), four);
    }
  }
}

/// out[h] = sum_t w[h][t] n_t for kHeads heads. `weights`: two neighbouring tokens' as one number,
/// [kHeads, pairs]; the partner of a last odd token weighs 0.
template <int kHeads>
PROTOGCD_AVX512_BF16 void weighted_sums(const std::uint32_t* weights, const std::uint16_t* n,
                                        std::int64_t tokens, std::int64_t width, float* out) {
  const std::int64_t pairs = (tokens + 1) / 2;
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  for (std::int64_t d = 0; d < width; d += kLanes) {
    __m512 low[kHeads], high[kHeads];
    for (int h = 0; h < kHeads; ++h) low[h] = high[h] = _mm512_setzero_ps();
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const std::int64_t partner = std::min(2 * pair + 1, tokens - 1);
      const __m512i a = _mm512_loadu_si512(n + 2 * pair * width + d);
      const __m512i b = _mm512_loadu_si512(n + partner * width + d);
      const auto x = (__m512bh)_mm512_unpacklo_epi16(a, b),
                 y = (__m512bh)_mm512_unpackhi_epi16(a, b);
      for (int h = 0; h < kHeads; ++h) {
        const auto w = (__m512bh)_mm512_set1_epi32(static_cast<int>(weights[h * pairs + pair]));
        low[h] = _mm512_dpbf16_ps(low[h], x, w);
        high[h] = _mm512_dpbf16_ps(high[h], y, w);
      }
    }
    for (int h = 0; h < kHeads; ++h) {  // unpacking has mixed the order of four and four
      _mm512_storeu_ps(out + h * width + d, _mm512_permutex2var_ps(low[h], first, high[h]));
      _mm512_storeu_ps(out + h * width + d + 16, _mm512_permutex2var_ps(low[h], second, high[h]));
    }
  }
}

/// Calls body.operator()<kHeads>(first) for groups of heads that fit the registers.
template <class Body>
void for_groups(std::int64_t heads, const Body& body) {
  std::int64_t first = 0;
  for (; first + 6 <= heads; first += 6) body.template operator()<6>(first);
  for (; first + 3 <= heads; first += 3) body.template operator()<3>(first);
  for (; first < heads; ++first) body.template operator()<1>(first);
}

/// One image's two products, with what lies between them.
class OneImage {
 public:
  OneImage(std::int64_t heads, std::int64_t tokens, std::int64_t width)
      : heads_(heads),
        tokens_(tokens),
        width_(width),
        scores_(static_cast<std::size_t>(heads * tokens)),
        weights_(static_cast<std::size_t>(heads * ((tokens + 1) / 2))) {}

  /// q [H, D], n [T, D]; between(scores [H, T]) makes the weights [H, T] in place; out [H, D].
  template <class Between>
  void run(const std::uint16_t* q, const std::uint16_t* n, const Between& between, float* out) {
    for_groups(heads_, [&]<int kHeads>(std::int64_t first) {
      dot_products<kHeads>(q + first * width_, n, tokens_, width_,
                           scores_.data() + first * tokens_);
    });
    const std::int64_t pairs = (tokens_ + 1) / 2;
    for (std::int64_t h = 0; h < heads_; ++h) {
      float* row = scores_.data() + h * tokens_;
      between(h, row);
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        const std::uint32_t one = rounded(row[2 * pair]),
                            other = 2 * pair + 1 < tokens_ ? rounded(row[2 * pair + 1]) : 0;
        weights_[static_cast<std::size_t>(h * pairs + pair)] = one | other << 16;
      }
    }
    for_groups(heads_, [&]<int kHeads>(std::int64_t first) {
      weighted_sums<kHeads>(weights_.data() + first * pairs, n, tokens_, width_,
                            out + first * width_);
    });
  }

 private:
  std::int64_t heads_, tokens_, width_;
  std::vector<float> scores_;
  std::vector<std::uint32_t> weights_;
};

const std::uint16_t* bits_of(const at::Tensor& tensor) {
  return reinterpret_cast<const std::uint16_t*>(tensor.const_data_ptr());
}

/// The two products of every image. between(image, head, row) as in OneImage.
template <class Between>
at::Tensor run_all(const at::Tensor& queries, const at::Tensor& tokens, const Between& between) {
  const at::Tensor q = queries.to(at::kBFloat16).contiguous();
  const std::int64_t batch = q.size(0), heads = q.size(1), width = q.size(2),
                     count = tokens.size(1);
  at::Tensor out = at::empty({batch, heads, width}, q.options().dtype(at::kFloat));
  at::parallel_for(0, batch, 1, [&](std::int64_t begin, std::int64_t end) {
    OneImage image(heads, count, width);
    for (std::int64_t b = begin; b < end; ++b) {
      image.run(
          bits_of(q) + b * heads * width, bits_of(tokens) + b * count * width,
          [&](std::int64_t h, float* row) { between(b, h, row); },
          out.data_ptr<float>() + b * heads * width);
    }
  });
  return out;
}

class PooledTokens : public torch::autograd::Function<PooledTokens> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& queries,
                            const at::Tensor& tokens) {
    const std::int64_t heads = queries.size(1), count = tokens.size(1);
    at::Tensor shares = at::empty({queries.size(0), heads, count}, queries.options());
    auto* kept = shares.data_ptr<float>();
    const at::Tensor out =
        run_all(queries, tokens, [&](std::int64_t b, std::int64_t h, float* row) {
          const float highest = *std::max_element(row, row + count);
          float sum = 0;
          for (std::int64_t t = 0; t < count; ++t) sum += row[t] = std::exp(row[t] - highest);
          for (std::int64_t t = 0; t < count; ++t) row[t] /= sum;
          std::copy(row, row + count, kept + (b * heads + h) * count);
        });
    context->save_for_backward({tokens, shares});
    return out;
  }

  /// With p the shares and g what comes back: dq = sum_t p_t (g . n_t - sum_s p_s g . n_s) n_t.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &tokens = saved[0], &shares = saved[1];
    const std::int64_t heads = shares.size(1), count = shares.size(2);
    const auto* kept = shares.const_data_ptr<float>();
    return {run_all(gradients[0], tokens,
                    [&](std::int64_t b, std::int64_t h, float* row) {
                      const float* p = kept + (b * heads + h) * count;
                      float mean = 0;
                      for (std::int64_t t = 0; t < count; ++t) mean += p[t] * row[t];
                      for (std::int64_t t = 0; t < count; ++t) row[t] = p[t] * (row[t] - mean);
                    }),
            at::Tensor()};
  }
};

bool is_fast_for(const at::Tensor& queries, const at::Tensor& tokens) {
  static const bool can = has_fast_pooled_tokens();
  return can && tokens.is_cpu() && tokens.scalar_type() == at::kBFloat16 &&
         queries.scalar_type() == at::kFloat && tokens.is_contiguous() &&
         tokens.size(2) % kLanes == 0;
}

}  // namespace

at::Tensor pooled_tokens(const at::Tensor& queries, const PooledRows& rows) {
  if (is_on_cuda(queries, rows)) return pooled_on_cuda(queries, rows);
  const at::Tensor tokens = gathered(rows);
  return is_fast_for(queries, tokens) ? PooledTokens::apply(queries, tokens)
                                      : pooled_tokens_plainly(queries, tokens);
}

#else

bool has_fast_pooled_tokens() {
  return false;
}

at::Tensor pooled_tokens(const at::Tensor& queries, const PooledRows& rows) {
  if (is_on_cuda(queries, rows)) return pooled_on_cuda(queries, rows);
  return pooled_tokens_plainly(queries, gathered(rows));
}

#endif

}  // namespace protogcd
