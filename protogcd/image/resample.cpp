#include "protogcd/image/resample.h"

#include <cmath>
#include <cstring>

#include "protogcd/image/resample_kernels.h"
#include "protogcd/image/resample_math.h"

namespace protogcd {
namespace {

/// Pillow's bicubic kernel, a = -0.5; operations in its order, since every rounding counts.
double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0.0;
}

/// How output positions map to source positions. Down-scaling widens the kernel (antialiasing).
struct AxisScale {
  double scale, filter_scale, support;
  int from;

  AxisScale(int source_count, int output_count)
      : scale(static_cast<double>(source_count) / output_count),
        filter_scale(std::max(scale, 1.0)),
        support(2.0 * filter_scale),
        from(source_count) {}

  double center(int output) const { return (output + 0.5) * scale; }
  // NOLINTBEGIN(bugprone-incorrect-roundings): Pillow rounds so, and to its pixels we are held.
  int start(int output) const {
    return std::max(0, static_cast<int>(center(output) - support + 0.5));
  }
  int end(int output) const {
    return std::min(from, static_cast<int>(center(output) + support + 0.5));
  }
  // NOLINTEND(bugprone-incorrect-roundings)
};

std::int32_t to_fixed_point(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<std::int32_t>(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

std::int32_t pack_pair(std::int32_t first, std::int32_t second) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xFFFF) |
                                   static_cast<std::uint32_t>(second) << 16);
}

/// Low halves are signed: weight = high * 65536 + low.
void pack_halves(std::span<const std::int32_t> weights, std::int32_t* packed) {
  const auto low = [](std::int32_t weight) { return static_cast<std::int16_t>(weight & 0xFFFF); };
  const auto high = [&](std::int32_t weight) { return (weight - low(weight)) >> 16; };
  for (std::size_t i = 0; i < weights.size(); i += 2) {
    *packed++ = pack_pair(low(weights[i]), low(weights[i + 1]));
    *packed++ = pack_pair(high(weights[i]), high(weights[i + 1]));
  }
}

/// Signed bytes: weight = high * 65536 + middle * 256 + low.
void pack_bytes(std::span<const std::int32_t> weights, std::int32_t* packed) {
  for (std::size_t i = 0; i < weights.size(); i += 4, packed += 3) {
    std::int8_t digits[3][4];
    for (std::size_t tap = 0; tap < 4; ++tap) {
      std::int32_t rest = weights[i + tap];
      for (auto& digit : digits) {
        digit[tap] = static_cast<std::int8_t>(rest & 0xFF);
        rest = (rest - digit[tap]) >> 8;
      }
    }
    std::memcpy(packed, digits, sizeof digits);
  }
}

void horizontal_scalar(const ResampleAxis& axis, const std::uint8_t* const* inputs,
                       std::uint8_t* const* outputs) {
  for (int row = 0; row < kRowsAtOnce; ++row) {
    for (int x = 0; x < axis.count; ++x) {
      const std::int32_t* weights = axis.weights.data() + std::size_t(x) * axis.taps;
      const std::uint8_t* input = inputs[row] + std::ptrdiff_t{3} * axis.starts[x];
      std::int32_t sums[3] = {kWeightHalf, kWeightHalf, kWeightHalf};
      for (int tap = 0; tap < axis.lengths[x]; ++tap) {
        for (int channel = 0; channel < 3; ++channel) {
          sums[channel] += input[3 * tap + channel] * weights[tap];
        }
      }
      for (int channel = 0; channel < 3; ++channel) {
        outputs[row][3 * x + channel] = round_sample(sums[channel]);
      }
    }
  }
}

void vertical_scalar(const ResampleAxis& axis, int index, const std::uint8_t* const* inputs,
                     std::size_t bytes, std::uint8_t* output) {
  const std::int32_t* weights = axis.weights.data() + std::size_t(index) * axis.taps;
  for (std::size_t i = 0; i < bytes; ++i) {
    std::int32_t sum = kWeightHalf;
    for (int tap = 0; tap < axis.lengths[index]; ++tap) sum += inputs[tap][i] * weights[tap];
    output[i] = round_sample(sum);
  }
}

}  // namespace

std::vector<ResampleKernel> available_resample_kernels() {
  std::vector<ResampleKernel> kernels = {ResampleKernel::kScalar};
#ifdef PROTOGCD_X86_KERNELS
  if (__builtin_cpu_supports("avx2")) kernels.push_back(ResampleKernel::kAvx2);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) {
    kernels.push_back(ResampleKernel::kAvx512);
  }
#endif
  return kernels;
}

const char* resample_kernel_name(ResampleKernel kernel) {
  switch (kernel) {
    case ResampleKernel::kAvx2:
      return "avx2";
    case ResampleKernel::kAvx512:
      return "avx512-vnni";
    case ResampleKernel::kScalar:
      break;
  }
  return "scalar";
}

ResampleFunctions resample_functions(ResampleKernel kernel) {
#ifdef PROTOGCD_X86_KERNELS
  if (kernel == ResampleKernel::kAvx2) return {horizontal_avx2, vertical_avx2};
  if (kernel == ResampleKernel::kAvx512) return {horizontal_avx512, vertical_avx512};
#endif
  (void)kernel;
  return {horizontal_scalar, vertical_scalar};
}

std::pair<int, int> resample_sources(int from, int to, int first, int count) {
  const AxisScale axis(from, to);
  return {axis.start(first), axis.end(first + count - 1)};
}

void ResampleAxis::build(int from, int to, int first, int output_count, ResampleKernel kernel) {
  const AxisScale axis(from, to);
  count = output_count;
  const int most = std::min(from, static_cast<int>(std::ceil(axis.support)) * 2 + 1);
  taps = (most + 3) / 4 * 4;
  starts.resize(count);
  lengths.resize(count);
  weights.assign(std::size_t(count) * taps, 0);
  std::vector<double> exact(most);
  const double inverse = 1.0 / axis.filter_scale;
  for (int i = 0; i < count; ++i) {
    const double center = axis.center(first + i);
    const int start = axis.start(first + i);
    const int length = axis.end(first + i) - start;
    double sum = 0;
    for (int tap = 0; tap < length; ++tap) {
      exact[tap] = bicubic((tap + start - center + 0.5) * inverse);
      sum += exact[tap];
    }
    for (int tap = 0; tap < length; ++tap) {
      const double weight = sum != 0 ? exact[tap] / sum : exact[tap];
      weights[std::size_t(i) * taps + tap] = to_fixed_point(weight);
    }
    starts[i] = start;
    lengths[i] = length;
  }
  if (kernel == ResampleKernel::kAvx2) {
    packed.resize(weights.size());
    pack_halves(weights, packed.data());
  } else if (kernel == ResampleKernel::kAvx512) {
    packed.resize(weights.size() / 4 * 3);
    pack_bytes(weights, packed.data());
  }
}

}  // namespace protogcd
