#include "protogcd/cluster/bfloat16_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace protogcd {
namespace {

/// The nearest bfloat16, ties to even; finite numbers alone.
std::uint32_t rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
}

/// Writes the row's pairs and gives the length of what rounding lost.
float round_row(const float* values, std::int64_t width, std::uint32_t* words, std::int64_t step) {
  float lost = 0;
  const auto take = [&](std::int64_t i) {
    const std::uint32_t bits = rounded(values[i]);
    const float difference = values[i] - std::bit_cast<float>(bits << 16);
    lost += difference * difference;
    return bits;
  };
  for (std::int64_t i = 0; i + 1 < width; i += 2) {
    const std::uint32_t low = take(i);
    words[i / 2 * step] = low | take(i + 1) << 16;
  }
  if (width % 2 == 1) words[width / 2 * step] = take(width - 1);
  return std::sqrt(lost);
}

}  // namespace

Bfloat16Rows::Bfloat16Rows(const float* values, std::int64_t rows, std::int64_t width)
    : pairs_((width + 1) / 2),
      words_(
          std::make_unique_for_overwrite<std::uint32_t[]>(static_cast<std::size_t>(rows * pairs_))),
      residuals_(static_cast<std::size_t>(rows)) {
  at::parallel_for(0, rows, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      residuals_[static_cast<std::size_t>(i)] =
          round_row(values + i * width, width, words_.get() + i * pairs_, 1);
    }
  });
}

Bfloat16Columns::Bfloat16Columns(const float* values, const float* bias, std::int64_t count,
                                 std::int64_t width)
    : pairs_((width + 1) / 2),
      tiles_((count + 15) / 16),
      words_(static_cast<std::size_t>(tiles_ * 16 * pairs_)),
      bias_(static_cast<std::size_t>(tiles_ * 16)),
      largest_residual_(0) {
  std::copy_n(bias, count, bias_.begin());
  for (std::int64_t c = 0; c < count; ++c) {
    const std::int64_t first = c / 16 / kProductTiles * kProductTiles;  // tile of the group
    const std::int64_t group = std::min(kProductTiles, tiles_ - first);
    std::uint32_t* start = words_.data() + first * 16 * pairs_ + (c - first * 16);
    largest_residual_ =
        std::max(largest_residual_, round_row(values + c * width, width, start, group * 16));
  }
}

}  // namespace protogcd
