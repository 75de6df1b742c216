// An image in memory, and what stands in its place when it cannot be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace protogcd {

/// Interleaved 8-bit RGB, rows from top to bottom: [height, width, 3].
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;

  Image() = default;
  Image(int image_width, int image_height)
      : width(image_width),
        height(image_height),
        pixels(std::size_t{3} * image_width * image_height) {}

  std::uint8_t* at(int x, int y) {
    return pixels.data() + (std::size_t{3} * y * width + std::size_t{3} * x);
  }
  const std::uint8_t* at(int x, int y) const {
    return pixels.data() + (std::size_t{3} * y * width + std::size_t{3} * x);
  }
};

/// Why an image could not be read: a value that travels, never an exception per image.
struct BadImage {
  std::string reason;
};

using ImageOrBad = std::variant<Image, BadImage>;

}  // namespace protogcd
