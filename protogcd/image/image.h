// An image in memory, its sizes and windows, and what stands in its place when it cannot be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace protogcd {

struct ImageSize {
  int width = 0;
  int height = 0;

  std::int64_t pixels() const { return std::int64_t{width} * height; }
  bool operator==(const ImageSize&) const = default;
};

/// A window of an image, in pixels.
struct ImageBox {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;

  int right() const { return left + width; }   ///< first column after the window
  int bottom() const { return top + height; }  ///< first row after the window
  bool operator==(const ImageBox&) const = default;
};

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

  ImageSize size() const { return {width, height}; }
  /// Takes another size and keeps the memory; what the pixels hold afterwards is not defined.
  void reshape(ImageSize new_size) {
    width = new_size.width;
    height = new_size.height;
    pixels.resize(static_cast<std::size_t>(3 * new_size.pixels()));
  }

  std::uint8_t* at(int x, int y) {
    return pixels.data() + (std::size_t{3} * y * width + std::size_t{3} * x);
  }
  const std::uint8_t* at(int x, int y) const {
    return pixels.data() + (std::size_t{3} * y * width + std::size_t{3} * x);
  }
  bool operator==(const Image&) const = default;
};

/// Why an image could not be read: a value that travels, never an exception per image.
struct BadImage {
  std::string reason;
};

using ImageOrBad = std::variant<Image, BadImage>;
/// The same where the image goes into a buffer of the caller's: nothing means success.
using MaybeBad = std::optional<BadImage>;

}  // namespace protogcd
