// One axis of Pillow's bicubic resize in its own integer arithmetic, and the kernels that apply it.
// Internal to this area: callers use resize.h.
//
// Pillow computes weights in double, rounds them to 22 fractional bits and sums in 32-bit integers.
// The fast kernels split a weight into narrower digits, multiply those by the 8-bit samples and put
// the sums together again: all sums are exact, so the result is the same bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace protogcd {

enum class ResampleKernel {
  kScalar,  ///< the plain reference
  kAvx2,    ///< weights as two 16-bit digits (pmaddwd)
  kAvx512   ///< weights as three 8-bit digits (AVX-512 VNNI, vpdpbusd)
};

/// Those this machine can run, the fastest last.
std::vector<ResampleKernel> available_resample_kernels();
const char* resample_kernel_name(ResampleKernel kernel);

/// The source samples [first, last) that outputs [first, first + count) of an axis resized from
/// `from` to `to` samples are made of.
std::pair<int, int> resample_sources(int from, int to, int first, int count);

/// Weights of those outputs. Every output has `taps` of them, a multiple of 4; unused ones are 0.
struct ResampleAxis {
  int count = 0;
  int taps = 0;
  std::vector<int> starts;            ///< [count] first source sample
  std::vector<int> lengths;           ///< [count] number of source samples
  std::vector<std::int32_t> weights;  ///< [count, taps], 22 fractional bits
  /// The weights as the kernel reads them. kAvx2: [count, taps/2, 2] pairs of low and of high
  /// 16-bit halves. kAvx512: [count, taps/4, 3] four low, middle, high bytes.
  std::vector<std::int32_t> packed;

  /// Reuses the memory of an earlier axis.
  void build(int from, int to, int first, int output_count, ResampleKernel kernel);
};

constexpr int kRowsAtOnce = 4;
/// The kernels may read this many bytes past the last sample a weight touches, and write up to
/// kWritePadding past the end of a row.
constexpr int kReadPadding = 64;
constexpr int kWritePadding = 64;

/// kRowsAtOnce rows of RGB, resampled along x. `inputs` point at the sample 0 that axis.starts
/// counts from.
using HorizontalKernel = void (*)(const ResampleAxis& axis, const std::uint8_t* const* inputs,
                                  std::uint8_t* const* outputs);
/// One output row: `inputs` are axis.taps rows of `bytes` bytes for output `index` of the axis.
using VerticalKernel = void (*)(const ResampleAxis& axis, int index,
                                const std::uint8_t* const* inputs, std::size_t bytes,
                                std::uint8_t* output);

struct ResampleFunctions {
  HorizontalKernel horizontal;
  VerticalKernel vertical;
};

ResampleFunctions resample_functions(ResampleKernel kernel);

}  // namespace protogcd
