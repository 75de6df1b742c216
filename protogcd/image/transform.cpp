#include "protogcd/image/transform.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

void check_inside(const Image& image, const ImageBox& box) {
  if (box.left < 0 || box.top < 0 || box.width <= 0 || box.height <= 0 ||
      box.width > image.width - box.left || box.height > image.height - box.top) {
    throw DataError(fmt::format("a window of {}x{} at ({}, {}) leaves the image of {}x{}",
                                box.width, box.height, box.left, box.top, image.width,
                                image.height));
  }
}

}  // namespace

Image crop_image(const Image& image, const ImageBox& box) {
  check_inside(image, box);
  Image cropped(box.width, box.height);
  for (int y = 0; y < box.height; ++y) {
    std::memcpy(cropped.at(0, y), image.at(box.left, box.top + y), std::size_t{3} * box.width);
  }
  return cropped;
}

void copy_window(const Image& image, const ImageBox& box, bool flip,
                 std::span<std::uint8_t> output) {
  check_inside(image, box);
  const std::size_t row = std::size_t{3} * box.width;
  if (output.size() != row * box.height) throw DataError("copy_window: output of another size");
  for (int y = 0; y < box.height; ++y) {
    const std::uint8_t* from = image.at(box.left, box.top + y);
    std::uint8_t* to = output.data() + row * y;
    if (!flip) {
      std::memcpy(to, from, row);
      continue;
    }
    for (std::ptrdiff_t x = 0; x < box.width; ++x)
      std::memcpy(to + 3 * x, from + 3 * (box.width - 1 - x), 3);
  }
}

Normalizer::Normalizer(const Normalization& normalization) {
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (int value = 0; value < 256; ++value) {
      values_[channel][value] = (static_cast<float>(value) / 255.0f - normalization.mean[channel]) /
                                normalization.deviation[channel];
    }
  }
}

void Normalizer::apply(const Image& image, const ImageBox& box, bool flip,
                       std::span<float> output) const {
  check_inside(image, box);
  const std::size_t plane = static_cast<std::size_t>(box.width) * box.height;
  if (output.size() != 3 * plane) {
    throw DataError(fmt::format("{} numbers cannot hold a window of 3x{}x{}", output.size(),
                                box.height, box.width));
  }
  const int step = flip ? -3 : 3;
  for (int y = 0; y < box.height; ++y) {
    const std::uint8_t* pixel = image.at(flip ? box.right() - 1 : box.left, box.top + y);
    float* target = output.data() + static_cast<std::size_t>(y) * box.width;
    for (int x = 0; x < box.width; ++x, pixel += step) {
      target[x] = values_[0][pixel[0]];
      target[x + plane] = values_[1][pixel[1]];
      target[x + 2 * plane] = values_[2][pixel[2]];
    }
  }
}

}  // namespace protogcd
