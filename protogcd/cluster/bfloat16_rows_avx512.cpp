// vdpbf16ps multiplies 16 pairs of bfloat16 and adds each pair to a float32 sum. Six rows times
// four registers of columns keep 24 sums in registers: enough to hide the instruction's latency,
// and the columns are read from the second-level cache once for six rows.
#include "protogcd/cluster/bfloat16_rows.h"
#include "protogcd/core/error.h"

// clang 16 crashes on vectors of bfloat16; newer ones have not been tried.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

#include <algorithm>

#define PROTOGCD_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace protogcd {
namespace {

template <int kTiles>
PROTOGCD_BF16 void multiply(const std::uint32_t* const* rows, const std::uint32_t* columns,
                            const float* bias, std::int64_t pairs, float* products,
                            std::int64_t stride) {
  __m512 sums[kProductRows][kTiles];
#pragma GCC unroll 6
  for (int r = 0; r < kProductRows; ++r) {
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) sums[r][t] = _mm512_loadu_ps(bias + 16 * t);
  }
  for (std::int64_t p = 0; p < pairs; ++p, columns += 16 * kTiles) {
    if (p % 16 == 0) {  // a cache line of every row; the next six mostly follow these
#pragma GCC unroll 6
      for (int r = 0; r < kProductRows; ++r)
        _mm_prefetch(rows[r] + p + kProductRows * pairs, _MM_HINT_T0);
    }
    __m512i tiles[kTiles];
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) tiles[t] = _mm512_loadu_si512(columns + 16 * t);
#pragma GCC unroll 6
    for (int r = 0; r < kProductRows; ++r) {
      const __m512i pair = _mm512_set1_epi32(static_cast<int>(rows[r][p]));
#pragma GCC unroll 4
      for (int t = 0; t < kTiles; ++t) {
        sums[r][t] = _mm512_dpbf16_ps(sums[r][t], (__m512bh)pair, (__m512bh)tiles[t]);
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kProductRows; ++r) {
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) _mm512_storeu_ps(products + r * stride + 16 * t, sums[r][t]);
  }
}

}  // namespace

bool has_bfloat16_products() {
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

void bfloat16_products(std::span<const std::uint32_t* const, kProductRows> rows,
                       const Bfloat16Columns& columns, float* products) {
  constexpr decltype(&multiply<1>) kMultiply[] = {multiply<1>, multiply<2>, multiply<3>,
                                                  multiply<4>};
  for (std::int64_t tile = 0; tile < columns.tiles(); tile += kProductTiles) {
    const std::int64_t group = std::min(kProductTiles, columns.tiles() - tile);
    kMultiply[group - 1](rows.data(), columns.words(tile), columns.bias(tile), columns.pairs(),
                         products + 16 * tile, columns.stride());
  }
}

}  // namespace protogcd
#else

namespace protogcd {

bool has_bfloat16_products() {
  return false;
}

void bfloat16_products(std::span<const std::uint32_t* const, kProductRows>, const Bfloat16Columns&,
                       float*) {
  throw InternalError("this build has no bfloat16 products");
}

}  // namespace protogcd
#endif
