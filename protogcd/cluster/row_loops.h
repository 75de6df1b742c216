// Loops over rows of float32 in 16 sums side by side, of which the compiler makes vectors.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace protogcd {

/// The sum of term(i) for i below `count`, in an order of its own.
template <class Term>
float sum_of(std::int64_t count, const Term& term) {
  std::array<float, 16> sums{};
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (std::size_t j = 0; j < 16; ++j) sums[j] += term(i + static_cast<std::int64_t>(j));
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  for (; i < count; ++i) sum += term(i);
  return sum;
}

inline float dot(const float* a, const float* b, std::int64_t width) {
  return sum_of(width, [&](std::int64_t i) { return a[i] * b[i]; });
}

inline float squared_distance(const float* a, const float* b, std::int64_t width) {
  return sum_of(width, [&](std::int64_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
}

inline float largest(const float* values, std::int64_t count) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  std::array<float, 16> most;
  most.fill(kNever);
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (std::size_t j = 0; j < 16; ++j) {
      const float value = values[i + static_cast<std::int64_t>(j)];
      most[j] = value > most[j] ? value : most[j];
    }
  }
  return std::max(*std::ranges::max_element(most),
                  i < count ? *std::max_element(values + i, values + count) : kNever);
}

/// The lowest number of the largest of some numbers.
inline std::int64_t argmax(const float* values, std::int64_t count) {
  return std::find(values, values + count, largest(values, count)) - values;
}

}  // namespace protogcd
