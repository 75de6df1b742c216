#include "protogcd/image/filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "protogcd/core/error.h"
#include "protogcd/image/colour.h"

namespace protogcd {
namespace {

/// Pillow's SMOOTH: the middle counts five times its neighbours. The border stays as it is.
Image smoothed(const Image& image) {
  Image result = image;
  const float side = 1.0f / 13.0f, middle = 5.0f / 13.0f;
  const std::size_t line = std::size_t{3} * image.width;
  for (int y = 1; y + 1 < image.height; ++y) {
    const std::uint8_t* above = image.at(0, y - 1);
    const std::uint8_t* own = image.at(0, y);
    const std::uint8_t* below = image.at(0, y + 1);
    std::uint8_t* out = result.at(0, y);
    const auto three = [](const std::uint8_t* row, std::size_t i, float sides, float centre) {
      return static_cast<float>(row[i - 3]) * sides + static_cast<float>(row[i]) * centre +
             static_cast<float>(row[i + 3]) * sides;
    };
    for (std::size_t i = 3; i < line - 3; ++i) {  // the order of Pillow's sum
      float sum = 0.5f;
      sum += three(below, i, side, side);
      sum += three(own, i, side, middle);
      sum += three(above, i, side, side);
      out[i] = sum >= 255 ? 255 : static_cast<std::uint8_t>(sum);
    }
  }
  return result;
}

constexpr int kBoxPasses = 3;

/// A box of 2 reach + 1 whole pixels and a part of one more at each end; weights in 24 bits.
struct SoftBox {
  int reach = 0;
  std::uint32_t whole = 0, end = 0;

  explicit SoftBox(float radius)
      : reach(static_cast<int>(radius)),
        whole(static_cast<std::uint32_t>(16777216.0f / (radius * 2 + 1))),
        end(((1U << 24) - static_cast<std::uint32_t>(2 * reach + 1) * whole) / 2) {}
};

/// The radius of a box whose three passes have the variance of the Gaussian (Gwosdek et al. 2011,
/// equations 7, 11 and 14), with Pillow's roundings.
float box_radius(float deviation) {
  const float variance = deviation * deviation / kBoxPasses;
  const auto length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  return whole + part;
}

/// One pass along a row of `count` pixels.
void box_pass(const SoftBox& box, const std::uint8_t* in, std::uint8_t* out, int count) {
  const auto at = [&](int x, int c) -> std::uint32_t {
    return in[3 * std::clamp(x, 0, count - 1) + c];
  };
  for (int c = 0; c < 3; ++c) {
    std::uint32_t sum = 0;
    for (int x = -box.reach; x <= box.reach; ++x) sum += at(x, c);
    for (int x = 0; x < count; ++x) {
      const std::uint32_t ends = at(x - box.reach - 1, c) + at(x + box.reach + 1, c);
      out[3 * x + c] =
          static_cast<std::uint8_t>((sum * box.whole + ends * box.end + (1U << 23)) >> 24);
      sum += at(x + box.reach + 1, c) - at(x - box.reach, c);
    }
  }
}

/// All passes along every row.
void blur_rows(Image& image, const SoftBox& box) {
  std::vector<std::uint8_t> other(std::size_t{3} * image.width);
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t* row = image.at(0, y);
    for (int pass = 0; pass < kBoxPasses; ++pass) {
      box_pass(box, row, other.data(), image.width);
      std::ranges::copy(other, row);
    }
  }
}

Image transposed(const Image& image) {
  Image result(image.height, image.width);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) std::copy_n(image.at(x, y), 3, result.at(y, x));
  }
  return result;
}

}  // namespace

void change_sharpness(Image& image, double factor) {
  const Image smooth = smoothed(image);
  const auto f = static_cast<float>(factor);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = blended(smooth.pixels[i], image.pixels[i], f);
}

void blur_image(Image& image, double radius) {
  if (radius < 0) throw InternalError("blur_image: a negative radius");
  if (radius == 0 || image.pixels.empty()) return;
  const SoftBox box(box_radius(static_cast<float>(radius)));
  blur_rows(image, box);
  Image columns = transposed(image);
  blur_rows(columns, box);
  image = transposed(columns);
}

}  // namespace protogcd
