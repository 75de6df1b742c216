#include "protogcd/cluster/int8_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace protogcd {
namespace {

constexpr float kMagic = 0x1.8p23F;  // added to a small number it rounds it, into the last bits

struct Rounded {
  float scale, residual, square;
};

/// Gives take(i, q) the rounded numbers. Plain enough for the compiler to make vectors of it.
template <class Take>
Rounded round_row(const float* values, std::int64_t width, const Take& take) {
  float largest = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const float size = std::abs(values[i]);
    largest = size > largest ? size : largest;
  }
  const float scale = largest > 1e-30F ? largest / 127 : 0.0F,
              inverse = scale > 0 ? 127 / largest : 0.0F;
  float lost[16] = {};
  std::int32_t squares[16] = {};
  const auto round = [&](std::int64_t i, std::int64_t lane) {
    const float moved = values[i] * inverse + kMagic;
    const std::int32_t q = std::bit_cast<std::int32_t>(moved) - std::bit_cast<std::int32_t>(kMagic);
    const float difference = values[i] - (moved - kMagic) * scale;
    lost[lane] += difference * difference;
    squares[lane] += q * q;
    take(i, q);
  };
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    for (std::int64_t lane = 0; lane < 16; ++lane) round(i + lane, lane);
  }
  for (; i < width; ++i) round(i, 0);
  float all_lost = 0;
  std::int32_t square = 0;
  for (std::size_t lane = 0; lane < 16; ++lane) {
    all_lost += lost[lane];
    square += squares[lane];
  }
  return {scale, std::sqrt(all_lost), static_cast<float>(square) * scale * scale};
}

}  // namespace

Int8Rows::Int8Rows(std::int64_t rows, std::int64_t width)
    : width_(width),
      quads_((width + 3) / 4),
      bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(
          static_cast<std::size_t>(rows * 4 * quads_))),
      scales_(static_cast<std::size_t>(rows)),
      residuals_(static_cast<std::size_t>(rows)),
      squares_(static_cast<std::size_t>(rows)) {}

void Int8Rows::set(std::int64_t index, const float* values) {
  std::uint8_t* bytes = bytes_.get() + index * 4 * quads_;
  const auto i = static_cast<std::size_t>(index);
  const Rounded rounded = round_row(values, width_, [&](std::int64_t j, std::int32_t q) {
    bytes[j] = static_cast<std::uint8_t>(128 + q);
  });
  std::fill(bytes + width_, bytes + 4 * quads_, std::uint8_t{128});
  scales_[i] = rounded.scale;
  residuals_[i] = rounded.residual;
  squares_[i] = rounded.square;
}

Int8Columns::Int8Columns(const float* values, const float* bias, std::int64_t count,
                         std::int64_t width)
    : quads_((width + 3) / 4),
      tiles_((count + 15) / 16),
      words_(static_cast<std::size_t>(tiles_ * 16 * quads_)),
      bias_(static_cast<std::size_t>(tiles_ * 16)),
      scales_(static_cast<std::size_t>(tiles_ * 16)),
      residuals_(static_cast<std::size_t>(tiles_ * 16)),
      squares_(static_cast<std::size_t>(tiles_ * 16)),
      offsets_(static_cast<std::size_t>(tiles_ * 16)) {
  std::copy_n(bias, count, bias_.begin());
  for (std::int64_t c = 0; c < count; ++c) {
    const auto index = static_cast<std::size_t>(c);
    const std::int64_t first = c / 16 / kProductTiles * kProductTiles;  // tile of the group
    const std::int64_t group = std::min(kProductTiles, tiles_ - first);
    std::uint32_t* start = words_.data() + first * 16 * quads_ + (c - first * 16);
    const Rounded rounded =
        round_row(values + c * width, width, [&](std::int64_t j, std::int32_t q) {
          start[j / 4 * group * 16] |= static_cast<std::uint32_t>(q & 0xFF) << (j % 4 * 8);
          offsets_[index] -= 128 * q;
        });
    scales_[index] = rounded.scale;
    squares_[index] = rounded.square;
    residuals_[index] = rounded.residual;
  }
}

}  // namespace protogcd
