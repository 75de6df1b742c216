// vpdpbusd multiplies 16 times four bytes, unsigned of one side and signed of the other, and adds
// each four to a 32-bit sum. Six rows times four registers of columns keep 24 sums in registers:
// enough to hide the instruction's latency, and the columns are read from the second-level cache
// once for six rows.
#include "protogcd/cluster/int8_rows.h"
#include "protogcd/core/error.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#define PROTOGCD_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

namespace protogcd {
namespace {

/// The columns of one group of tiles.
struct Group {
  const std::uint32_t* words;
  const std::int32_t* offsets;
  const float *bias, *scales;
};

struct SixRows {
  std::array<const std::uint8_t*, kProductRows> bytes;
  std::array<float, kProductRows> scales;
};

/// Not by its intrinsic: GCC 12 then copies most sums to memory in every step, half the speed.
PROTOGCD_VNNI inline __m512i with_products(__m512i sums, __m512i bytes, __m512i numbers) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(bytes), "v"(numbers));
  return sums;
}

template <int kTiles>
PROTOGCD_VNNI void multiply(const SixRows& rows, Group group, std::int64_t quads, float* products,
                            std::int64_t stride) {
  __m512i sums[kProductRows][kTiles];
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kProductRows; ++r) {
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) sums[r][t] = _mm512_loadu_si512(group.offsets + 16 * t);
  }
  for (std::int64_t first = 0; first < quads; first += 16) {
    // A cache line of every row; the next six mostly follow these.
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kProductRows; ++r)
      _mm_prefetch(rows.bytes[r] + 4 * (first + kProductRows * quads), _MM_HINT_T0);
    const std::int64_t end = std::min(first + 16, quads);
    for (std::int64_t p = first; p < end; ++p, group.words += 16 * kTiles) {
      __m512i tiles[kTiles];
#pragma GCC unroll 4
      for (int t = 0; t < kTiles; ++t) tiles[t] = _mm512_loadu_si512(group.words + 16 * t);
#pragma GCC unroll 6
      for (std::size_t r = 0; r < kProductRows; ++r) {
        int four = 0;
        std::memcpy(&four, rows.bytes[r] + 4 * p, 4);
        const __m512i quad = _mm512_set1_epi32(four);
#pragma GCC unroll 4
        for (int t = 0; t < kTiles; ++t) sums[r][t] = with_products(sums[r][t], quad, tiles[t]);
      }
    }
  }
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kProductRows; ++r) {
    const __m512 scale = _mm512_set1_ps(rows.scales[r]);
#pragma GCC unroll 4
    for (int t = 0; t < kTiles; ++t) {
      const __m512 sum =
          _mm512_mul_ps(_mm512_cvtepi32_ps(sums[r][t]), _mm512_loadu_ps(group.scales + 16 * t));
      _mm512_storeu_ps(products + static_cast<std::int64_t>(r) * stride + 16 * t,
                       _mm512_fmadd_ps(sum, scale, _mm512_loadu_ps(group.bias + 16 * t)));
    }
  }
}

PROTOGCD_VNNI void add(const std::uint8_t* bytes, float scale, std::int64_t count, float* sums) {
  const __m512 by = _mm512_set1_ps(scale);
  const __m128i middle = _mm_set1_epi8(-128);
  for (std::int64_t j = 0; j < count; j += 16) {
    const auto some = static_cast<__mmask16>(
        count - j >= 16 ? 0xFFFF : (1U << static_cast<unsigned>(count - j)) - 1);
    const __m128i numbers = _mm_xor_si128(_mm_maskz_loadu_epi8(some, bytes + j), middle);
    const __m512 sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(numbers)), by,
                                       _mm512_maskz_loadu_ps(some, sums + j));
    _mm512_mask_storeu_ps(sums + j, some, sum);
  }
}

}  // namespace

bool has_int8_products(std::int64_t width) {
  return width >= 16 && width <= 65536 && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}

void int8_products(const Int8Rows& rows, std::span<const std::int64_t, kProductRows> numbers,
                   const Int8Columns& columns, float* products) {
  constexpr decltype(&multiply<1>) kMultiply[] = {multiply<1>, multiply<2>, multiply<3>,
                                                  multiply<4>};
  SixRows six;
  for (std::size_t r = 0; r < kProductRows; ++r) {
    six.bytes[r] = rows.row(numbers[r]);
    six.scales[r] = rows.scale(numbers[r]);
  }
  for (std::int64_t tile = 0; tile < columns.tiles(); tile += kProductTiles) {
    const std::int64_t tiles = std::min(kProductTiles, columns.tiles() - tile);
    kMultiply[tiles - 1](six,
                         {.words = columns.words(tile),
                          .offsets = columns.offsets(tile),
                          .bias = columns.bias(tile),
                          .scales = columns.scales(tile)},
                         columns.quads(), products + 16 * tile, columns.stride());
  }
}

void add_int8_row(const Int8Rows& rows, std::int64_t number, std::int64_t begin, std::int64_t end,
                  float* sums) {
  add(rows.row(number) + begin, rows.scale(number), end - begin, sums + begin);
}

}  // namespace protogcd
#else

namespace protogcd {

bool has_int8_products(std::int64_t) {
  return false;
}

void int8_products(const Int8Rows&, std::span<const std::int64_t, kProductRows>, const Int8Columns&,
                   float*) {
  throw InternalError("this build has no int8 products");
}

void add_int8_row(const Int8Rows&, std::int64_t, std::int64_t, std::int64_t, float*) {
  throw InternalError("this build has no int8 products");
}

}  // namespace protogcd
#endif
