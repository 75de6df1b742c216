#include "protogcd/image/filter.h"

#include <algorithm>
#include <cmath>
#include <utility>
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

/// All passes along every column, whole rows at a time.
void blur_columns(Image& image, const SoftBox& box) {
  const std::size_t line = std::size_t{3} * image.width;
  const auto row = [&](int y) { return image.at(0, std::clamp(y, 0, image.height - 1)); };
  Image result(image.width, image.height);
  std::vector<std::uint32_t> sums(line);
  for (int pass = 0; pass < kBoxPasses; ++pass) {
    std::ranges::fill(sums, 0);
    for (int y = -box.reach; y <= box.reach; ++y) {
      for (std::size_t i = 0; i < line; ++i) sums[i] += row(y)[i];
    }
    for (int y = 0; y < image.height; ++y) {
      const std::uint8_t *above = row(y - box.reach - 1), *first = row(y - box.reach),
                         *below = row(y + box.reach + 1);
      std::uint8_t* out = result.at(0, y);
      for (std::size_t i = 0; i < line; ++i) {
        const std::uint32_t ends = std::uint32_t{above[i]} + below[i];
        out[i] =
            static_cast<std::uint8_t>((sums[i] * box.whole + ends * box.end + (1U << 23)) >> 24);
        sums[i] += std::uint32_t{below[i]} - first[i];
      }
    }
    std::swap(image, result);
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
  Image turned = transposed(image);
  blur_columns(turned, box);  // rows first, as Pillow
  image = transposed(turned);
  blur_columns(image, box);
}

}  // namespace protogcd
