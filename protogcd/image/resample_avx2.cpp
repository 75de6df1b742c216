// Resample kernels for AVX2. pmaddwd multiplies pairs of 16-bit numbers and adds the two products:
// samples of two taps times the low halves of their weights, and times the high halves.
#include "protogcd/image/resample_kernels.h"

#ifdef PROTOGCD_X86_KERNELS
#include <immintrin.h>

#include <cstring>

#include "protogcd/image/resample_math.h"

#define PROTOGCD_AVX2 __attribute__((target("avx2")))

namespace protogcd {
namespace {

struct Sums {
  __m256i low, high;
};

PROTOGCD_AVX2 inline void add_taps(Sums& sums, __m256i samples, __m256i low, __m256i high) {
  sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(samples, low));
  sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(samples, high));
}

PROTOGCD_AVX2 inline Sums no_sums() {
  return {_mm256_set1_epi32(kWeightHalf), _mm256_setzero_si256()};
}

PROTOGCD_AVX2 inline __m256i total(const Sums& sums) {
  const __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(sums.high, 16), sums.low);
  return _mm256_srai_epi32(sum, kWeightBits);
}

PROTOGCD_AVX2 inline __m256i load_rows(const std::uint8_t* first, const std::uint8_t* second) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/// Writes 4 bytes where 3 are meant: the next pixel's own bytes come after.
inline void store_pixel(std::uint8_t* output, int pixel) {
  std::memcpy(output, &pixel, sizeof pixel);
}

}  // namespace

PROTOGCD_AVX2 void horizontal_avx2(const ResampleAxis& axis, const std::uint8_t* const* inputs,
                                   std::uint8_t* const* outputs) {
  // Per 128-bit lane one row: R, G, B of taps 0 and 1 as 16-bit pairs, then of taps 2 and 3.
  const __m256i first_pair = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i second_pair = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  const std::int32_t* weights = axis.packed.data();
  for (int x = 0; x < axis.count; ++x) {
    std::ptrdiff_t offset = std::ptrdiff_t{3} * axis.starts[x];
    Sums upper = no_sums(), lower = no_sums();
    for (int tap = 0; tap < axis.taps; tap += 4, offset += 12, weights += 4) {
      const __m256i low0 = _mm256_set1_epi32(weights[0]), high0 = _mm256_set1_epi32(weights[1]);
      const __m256i low1 = _mm256_set1_epi32(weights[2]), high1 = _mm256_set1_epi32(weights[3]);
      const __m256i two_rows = load_rows(inputs[0] + offset, inputs[1] + offset);
      add_taps(upper, _mm256_shuffle_epi8(two_rows, first_pair), low0, high0);
      add_taps(upper, _mm256_shuffle_epi8(two_rows, second_pair), low1, high1);
      const __m256i next_rows = load_rows(inputs[2] + offset, inputs[3] + offset);
      add_taps(lower, _mm256_shuffle_epi8(next_rows, first_pair), low0, high0);
      add_taps(lower, _mm256_shuffle_epi8(next_rows, second_pair), low1, high1);
    }
    const __m256i words = _mm256_packs_epi32(total(upper), total(lower));
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
    const std::ptrdiff_t pixel = std::ptrdiff_t{3} * x;
    store_pixel(outputs[0] + pixel, _mm_extract_epi32(even, 0));
    store_pixel(outputs[1] + pixel, _mm_extract_epi32(odd, 0));
    store_pixel(outputs[2] + pixel, _mm_extract_epi32(even, 1));
    store_pixel(outputs[3] + pixel, _mm_extract_epi32(odd, 1));
  }
}

PROTOGCD_AVX2 void vertical_avx2(const ResampleAxis& axis, int index,
                                 const std::uint8_t* const* inputs, std::size_t bytes,
                                 std::uint8_t* output) {
  constexpr std::size_t kStep = 32;
  const std::int32_t* weights = axis.packed.data() + std::size_t(index) * axis.taps;
  const __m256i zero = _mm256_setzero_si256();
  for (std::size_t i = 0; i < bytes; i += kStep) {
    Sums a = no_sums(), b = no_sums(), c = no_sums(), d = no_sums();
    for (int tap = 0; tap < axis.taps; tap += 2) {
      const __m256i low = _mm256_set1_epi32(weights[tap]);
      const __m256i high = _mm256_set1_epi32(weights[tap + 1]);
      const auto* first = reinterpret_cast<const __m256i*>(inputs[tap] + i);
      const auto* second = reinterpret_cast<const __m256i*>(inputs[tap + 1] + i);
      const __m256i row0 = _mm256_loadu_si256(first), row1 = _mm256_loadu_si256(second);
      const __m256i pairs_low = _mm256_unpacklo_epi8(row0, row1);
      const __m256i pairs_high = _mm256_unpackhi_epi8(row0, row1);
      add_taps(a, _mm256_unpacklo_epi8(pairs_low, zero), low, high);
      add_taps(b, _mm256_unpackhi_epi8(pairs_low, zero), low, high);
      add_taps(c, _mm256_unpacklo_epi8(pairs_high, zero), low, high);
      add_taps(d, _mm256_unpackhi_epi8(pairs_high, zero), low, high);
    }
    const __m256i result = _mm256_packus_epi16(_mm256_packs_epi32(total(a), total(b)),
                                               _mm256_packs_epi32(total(c), total(d)));
    if (bytes - i >= kStep) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(output + i), result);
    } else {
      alignas(32) std::uint8_t last[kStep];
      _mm256_store_si256(reinterpret_cast<__m256i*>(last), result);
      std::memcpy(output + i, last, bytes - i);
    }
  }
}

}  // namespace protogcd
#endif
