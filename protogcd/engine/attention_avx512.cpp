// vdpbf16ps multiplies 16 pairs of bfloat16 and adds each pair to a float32 sum, so that the right
// side of a product must hold pairs of its inner dimension side by side: keys are transposed,
// values interleaved two by two. Six rows of scores at a time go through softmax and second product
// while they are in the first-level cache.
#include "protogcd/engine/attention_kernel.h"

#ifdef PROTOGCD_ATTENTION_KERNEL
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#define PROTOGCD_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define PROTOGCD_BF16_INLINE PROTOGCD_BF16 __attribute__((always_inline)) inline

namespace protogcd {
namespace {

constexpr std::int64_t kLanes = 16;                    // float32 or pairs of bfloat16 in a register
constexpr std::int64_t kPairs = kKernelHeadWidth / 2;  // pairs of channels of a head
constexpr int kRows = 6;                               // queries at a time
constexpr int kColumns = 4;                            // registers of sums per row
constexpr float kScale = 0.125F * 1.44269504F;         // 1 / sqrt(64), and exp(x) as a power of two

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Working memory, all of it 32-bit words.
struct Scratch {
  std::int64_t key_words;     ///< tokens, rounded up to whole registers
  std::int64_t weight_words;  ///< pairs of tokens, rounded up
  std::uint32_t* keys;        ///< [32 pairs of channels, key_words]
  std::uint32_t* values;      ///< [pairs of tokens, 64]
  float* scores;              ///< [6, key_words]
  std::uint32_t* weights;     ///< [6, weight_words] pairs of bfloat16

  Scratch(std::int64_t tokens, std::byte* memory)
      : key_words(rounded_up(tokens, kLanes)), weight_words(rounded_up(tokens, 2 * kLanes) / 2) {
    keys = reinterpret_cast<std::uint32_t*>(memory);
    values = keys + kPairs * key_words;
    scores = reinterpret_cast<float*>(values + weight_words * kKernelHeadWidth);
    weights = reinterpret_cast<std::uint32_t*>(scores + kRows * key_words);
  }
  std::size_t words() const {
    return static_cast<std::size_t>((kPairs + kRows) * key_words +
                                    (kKernelHeadWidth + kRows) * weight_words);
  }
};

/// rows[i] holds words i, 0 .. 15 on entry and column i, rows 0 .. 15 after.
PROTOGCD_BF16_INLINE void transpose(__m512i (&rows)[16]) {
  __m512i pairs[16], quads[16];
  for (int i = 0; i < 8; ++i) {
    pairs[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    pairs[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {  // quads[i + j], part k: column 4 k + j of rows i .. i + 3
    quads[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    quads[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    quads[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512i even_low = _mm512_shuffle_i32x4(quads[j], quads[4 + j], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(quads[j], quads[4 + j], 0xdd);
    const __m512i even_high = _mm512_shuffle_i32x4(quads[8 + j], quads[12 + j], 0x88);
    const __m512i odd_high = _mm512_shuffle_i32x4(quads[8 + j], quads[12 + j], 0xdd);
    rows[j] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    rows[4 + j] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    rows[8 + j] = _mm512_shuffle_i32x4(even_low, even_high, 0xdd);
    rows[12 + j] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd);
  }
}

PROTOGCD_BF16 void transpose_keys(const HeadInput& input, const Scratch& scratch) {
  for (std::int64_t token = 0; token < input.tokens; token += kLanes) {
    for (std::int64_t pair = 0; pair < kPairs; pair += kLanes) {
      __m512i rows[16];
      for (std::int64_t i = 0; i < 16; ++i) {
        rows[i] = token + i < input.tokens
                      ? _mm512_loadu_si512(input.keys + (token + i) * input.stride + 2 * pair)
                      : _mm512_setzero_si512();
      }
      transpose(rows);
      for (std::int64_t i = 0; i < 16; ++i)
        _mm512_storeu_si512(scratch.keys + (pair + i) * scratch.key_words + token, rows[i]);
    }
  }
}

PROTOGCD_BF16_INLINE __m512i widened(const std::uint16_t* from) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

PROTOGCD_BF16 void interleave_values(const HeadInput& input, const Scratch& scratch) {
  for (std::int64_t token = 0; token < input.tokens; token += 2) {
    const std::uint16_t* row = input.values + token * input.stride;
    const bool has_second = token + 1 < input.tokens;
    for (std::int64_t channel = 0; channel < kKernelHeadWidth; channel += kLanes) {
      __m512i words = widened(row + channel);
      if (has_second)
        words =
            _mm512_or_si512(words, _mm512_slli_epi32(widened(row + input.stride + channel), 16));
      _mm512_storeu_si512(scratch.values + token / 2 * kKernelHeadWidth + channel, words);
    }
  }
}

template <int kWidth>
struct Sums {
  __m512 of[kRows][kWidth];
};

/// Six rows of pairs times `depth` rows of a matrix of pairs, of which kWidth registers are taken.
template <int kWidth>
PROTOGCD_BF16_INLINE Sums<kWidth> multiply(const std::array<const std::uint32_t*, kRows>& left,
                                           const std::uint32_t* right, std::int64_t right_stride,
                                           std::int64_t depth) {
  Sums<kWidth> sums;
  for (auto& row : sums.of)
    for (auto& sum : row) sum = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < depth; ++k) {
    __m512i columns[kWidth];
#pragma GCC unroll 4
    for (int c = 0; c < kWidth; ++c) columns[c] = _mm512_loadu_si512(right + c * kLanes);
    right += right_stride;
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      int pair;  // of queries in the caller's memory, which is an array of 16-bit values
      std::memcpy(&pair, left[r] + k, sizeof pair);
      const __m512i row = _mm512_set1_epi32(pair);
#pragma GCC unroll 4
      for (int c = 0; c < kWidth; ++c)
        sums.of[r][c] = _mm512_dpbf16_ps(sums.of[r][c], reinterpret_cast<__m512bh>(row),
                                         reinterpret_cast<__m512bh>(columns[c]));
    }
  }
  return sums;
}

template <int kWidth>
PROTOGCD_BF16 void score(const std::array<const std::uint32_t*, kRows>& queries,
                         const Scratch& scratch, std::int64_t column) {
  const auto sums = multiply<kWidth>(queries, scratch.keys + column, scratch.key_words, kPairs);
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kWidth; ++c)
      _mm512_storeu_ps(scratch.scores + r * scratch.key_words + column + c * kLanes, sums.of[r][c]);
}

/// 2^x for x <= 0, relative error below 3e-6: vscalefps multiplies by 2^floor(x).
PROTOGCD_BF16_INLINE __m512 power_of_two(__m512 x) {
  constexpr int kFractionAboveFloor = 1;
  const __m512 f = _mm512_reduce_ps(x, kFractionAboveFloor);
  __m512 power = _mm512_set1_ps(0.0135341679F);
  power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(0.0520114606F));
  power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(0.241442757F));
  power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(0.693003834F));
  power = _mm512_fmadd_ps(power, f, _mm512_set1_ps(1.00000259F));
  return _mm512_scalef_ps(power, x);
}

/// Subtracted first, so that the highest score itself gives exactly 1 however large it is.
PROTOGCD_BF16_INLINE __m512 below_highest(__m512 scores, __m512 highest) {
  return power_of_two(_mm512_mul_ps(_mm512_sub_ps(scores, highest), _mm512_set1_ps(kScale)));
}

/// exp((score - highest) / 8) of one row as bfloat16; the sum of the row.
PROTOGCD_BF16 float exponentials(const float* scores, std::int64_t tokens, std::uint32_t* weights) {
  const __m512 lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  const std::int64_t whole = tokens / kLanes * kLanes;
  const auto rest = static_cast<__mmask16>((1U << (tokens - whole)) - 1);
  __m512 highest = _mm512_mask_loadu_ps(lowest, rest, scores + whole);
  for (std::int64_t n = 0; n < whole; n += kLanes)
    highest = _mm512_max_ps(highest, _mm512_loadu_ps(scores + n));
  const __m512 shift = _mm512_set1_ps(_mm512_reduce_max_ps(highest));
  __m512 sum = _mm512_setzero_ps();
  const std::int64_t whole_pairs = tokens / (2 * kLanes) * (2 * kLanes);
  for (std::int64_t n = 0; n < whole_pairs; n += 2 * kLanes) {
    const __m512 first = below_highest(_mm512_loadu_ps(scores + n), shift);
    const __m512 second = below_highest(_mm512_loadu_ps(scores + n + kLanes), shift);
    sum = _mm512_add_ps(sum, _mm512_add_ps(first, second));
    _mm512_storeu_si512(weights + n / 2,
                        reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
  }
  for (std::int64_t n = whole_pairs; n < tokens; n += kLanes) {  // one or two, the last not full
    const __mmask16 valid = n == whole ? rest : static_cast<__mmask16>(0xffff);
    const __m512 loaded = _mm512_maskz_loadu_ps(valid, scores + n);
    const __m512 power = _mm512_maskz_mov_ps(valid, below_highest(loaded, shift));
    sum = _mm512_add_ps(sum, power);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(weights + n / 2),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(power)));
  }
  return _mm512_reduce_add_ps(sum);
}

PROTOGCD_BF16 void score_all(const std::array<const std::uint32_t*, kRows>& queries,
                             const Scratch& scratch) {
  std::int64_t column = 0;
  for (; column + kColumns * kLanes <= scratch.key_words; column += kColumns * kLanes)
    score<kColumns>(queries, scratch, column);
  switch ((scratch.key_words - column) / kLanes) {
    case 1:
      score<1>(queries, scratch, column);
      break;
    case 2:
      score<2>(queries, scratch, column);
      break;
    case 3:
      score<3>(queries, scratch, column);
      break;
    default:
      break;
  }
}

/// Queries first .. first + 5, or as many as there are.
PROTOGCD_BF16 void attend_rows(const HeadInput& input, const Scratch& scratch, std::int64_t first,
                               std::uint16_t* output, std::int64_t output_stride) {
  std::array<const std::uint32_t*, kRows> queries{}, weights{};
  for (int r = 0; r < kRows; ++r) {  // past the end, the last query again
    const std::int64_t token = std::min(first + r, input.tokens - 1);
    queries[r] = reinterpret_cast<const std::uint32_t*>(input.queries + token * input.stride);
    weights[r] = scratch.weights + r * scratch.weight_words;
  }
  score_all(queries, scratch);
  std::array<float, kRows> sums{};
  for (int r = 0; r < kRows; ++r)
    sums[r] = exponentials(scratch.scores + r * scratch.key_words, input.tokens,
                           scratch.weights + r * scratch.weight_words);
  const auto mixed =
      multiply<kColumns>(weights, scratch.values, kKernelHeadWidth, (input.tokens + 1) / 2);
  const auto rows = static_cast<int>(std::min<std::int64_t>(kRows, input.tokens - first));
  for (int r = 0; r < rows; ++r) {
    const __m512 factor = _mm512_set1_ps(1 / sums[r]);
    for (int c = 0; c < kColumns; ++c)
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(output + (first + r) * output_stride + c * kLanes),
          reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_mul_ps(mixed.of[r][c], factor))));
  }
}

}  // namespace

std::size_t attention_scratch_bytes(std::int64_t tokens) {
  return sizeof(std::uint32_t) * Scratch(tokens, nullptr).words();
}

void attend_head_avx512(const HeadInput& input, std::uint16_t* output, std::int64_t output_stride,
                        std::byte* memory) {
  const Scratch scratch(input.tokens, memory);
  transpose_keys(input, scratch);
  interleave_values(input, scratch);
  for (std::int64_t first = 0; first < input.tokens; first += kRows)
    attend_rows(input, scratch, first, output, output_stride);
}

}  // namespace protogcd
#endif
