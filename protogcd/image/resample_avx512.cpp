// Resample kernels for AVX-512 VNNI. vpdpbusd multiplies four unsigned bytes by four signed ones
// and adds all to a 32-bit sum: four taps at once, three times for the three bytes of the weights.
#include "protogcd/image/resample_kernels.h"

#ifdef PROTOGCD_X86_KERNELS
#include <immintrin.h>

#include <cstring>

#include "protogcd/image/resample_math.h"

#define PROTOGCD_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace protogcd {
namespace {

struct Sums {
  __m512i low, middle, high;
};

PROTOGCD_AVX512 inline Sums no_sums() {
  return {_mm512_set1_epi32(kWeightHalf), _mm512_setzero_si512(), _mm512_setzero_si512()};
}

PROTOGCD_AVX512 inline void add_taps(Sums& sums, __m512i samples, const std::int32_t* weights) {
  sums.low = _mm512_dpbusd_epi32(sums.low, samples, _mm512_set1_epi32(weights[0]));
  sums.middle = _mm512_dpbusd_epi32(sums.middle, samples, _mm512_set1_epi32(weights[1]));
  sums.high = _mm512_dpbusd_epi32(sums.high, samples, _mm512_set1_epi32(weights[2]));
}

PROTOGCD_AVX512 inline __m512i total(const Sums& sums) {
  const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(sums.high, 8), sums.middle);
  const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(upper, 8), sums.low);
  return _mm512_srai_epi32(sum, kWeightBits);
}

PROTOGCD_AVX512 inline __m512i load_rows(const std::uint8_t* const* inputs, std::ptrdiff_t offset) {
  const auto at = [&](int row) { return reinterpret_cast<const __m128i*>(inputs[row] + offset); };
  __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128(at(0)));
  rows = _mm512_inserti32x4(rows, _mm_loadu_si128(at(1)), 1);
  rows = _mm512_inserti32x4(rows, _mm_loadu_si128(at(2)), 2);
  return _mm512_inserti32x4(rows, _mm_loadu_si128(at(3)), 3);
}

/// Writes 4 bytes where 3 are meant: the next pixel's own bytes come after.
inline void store_pixel(std::uint8_t* output, int pixel) {
  std::memcpy(output, &pixel, sizeof pixel);
}

}  // namespace

PROTOGCD_AVX512 void horizontal_avx512(const ResampleAxis& axis, const std::uint8_t* const* inputs,
                                       std::uint8_t* const* outputs) {
  // Per 128-bit lane one row: four taps of R, of G, of B.
  const __m512i by_channel =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
  const std::int32_t* weights = axis.packed.data();
  for (int x = 0; x < axis.count; ++x) {
    std::ptrdiff_t offset = std::ptrdiff_t{3} * axis.starts[x];
    Sums sums = no_sums();
    for (int tap = 0; tap < axis.taps; tap += 4, offset += 12, weights += 3) {
      add_taps(sums, _mm512_shuffle_epi8(load_rows(inputs, offset), by_channel), weights);
    }
    const __m512i positive = _mm512_max_epi32(total(sums), _mm512_setzero_si512());
    const __m128i pixels = _mm512_cvtusepi32_epi8(positive);
    store_pixel(outputs[0] + 3 * x, _mm_extract_epi32(pixels, 0));
    store_pixel(outputs[1] + 3 * x, _mm_extract_epi32(pixels, 1));
    store_pixel(outputs[2] + 3 * x, _mm_extract_epi32(pixels, 2));
    store_pixel(outputs[3] + 3 * x, _mm_extract_epi32(pixels, 3));
  }
}

PROTOGCD_AVX512 void vertical_avx512(const ResampleAxis& axis, int index,
                                     const std::uint8_t* const* inputs, std::size_t bytes,
                                     std::uint8_t* output) {
  constexpr std::size_t kStep = 64;
  const std::int32_t* first_weights = axis.packed.data() + std::size_t(index) * (axis.taps / 4 * 3);
  for (std::size_t i = 0; i < bytes; i += kStep) {
    const std::int32_t* weights = first_weights;
    Sums a = no_sums(), b = no_sums(), c = no_sums(), d = no_sums();
    for (int tap = 0; tap < axis.taps; tap += 4, weights += 3) {
      const __m512i row0 = _mm512_loadu_si512(inputs[tap] + i);
      const __m512i row1 = _mm512_loadu_si512(inputs[tap + 1] + i);
      const __m512i row2 = _mm512_loadu_si512(inputs[tap + 2] + i);
      const __m512i row3 = _mm512_loadu_si512(inputs[tap + 3] + i);
      const __m512i upper_low = _mm512_unpacklo_epi8(row0, row1);
      const __m512i upper_high = _mm512_unpackhi_epi8(row0, row1);
      const __m512i lower_low = _mm512_unpacklo_epi8(row2, row3);
      const __m512i lower_high = _mm512_unpackhi_epi8(row2, row3);
      add_taps(a, _mm512_unpacklo_epi16(upper_low, lower_low), weights);
      add_taps(b, _mm512_unpackhi_epi16(upper_low, lower_low), weights);
      add_taps(c, _mm512_unpacklo_epi16(upper_high, lower_high), weights);
      add_taps(d, _mm512_unpackhi_epi16(upper_high, lower_high), weights);
    }
    const __m512i result = _mm512_packus_epi16(_mm512_packs_epi32(total(a), total(b)),
                                               _mm512_packs_epi32(total(c), total(d)));
    const std::size_t left = bytes - i;
    const __mmask64 mask = left >= kStep ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    _mm512_mask_storeu_epi8(output + i, mask, result);
  }
}

}  // namespace protogcd
#endif
