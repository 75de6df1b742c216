// Arithmetic that the resample kernels share.
#pragma once

#include <algorithm>
#include <cstdint>

namespace protogcd {

constexpr int kWeightBits = 22;
constexpr std::int32_t kWeightHalf = 1 << (kWeightBits - 1);

inline std::uint8_t round_sample(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

}  // namespace protogcd
