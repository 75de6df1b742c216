// What an image looks like at a glance: enough to say that it is too dark, blurred or tiny beside
// the others of its collection, or the picture of another file.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "protogcd/image/image.h"

namespace protogcd {

struct ImageLook {
  static constexpr int kThumbnail = 16;

  ImageSize size;  ///< as stored; none: never looked at
  /// Of its bright parts: 95% of it are darker, 0 to 255.
  float brightness = 0;
  /// How much of the coarse detail goes on at a quarter of its size, as log2 of energies: photos
  /// have -4 to 0, blurred ones less. It depends neither on contrast nor on how much there is to
  /// see.
  float sharpness = 0;
  std::array<std::uint8_t, kThumbnail * kThumbnail> thumbnail{};  ///< grey, squeezed to a square
};

/// From the image as it was resized for crops.
ImageLook look_at(const Image& resized, ImageSize stored);

enum class ImageFault : std::uint8_t { kDark, kBlurred, kTiny };

struct FaultyImage {
  std::size_t place = 0;  ///< in the list
  ImageFault fault = ImageFault::kDark;
  double score = 0;  ///< brightness, sharpness, or the short side in pixels
};

/// Those that stand out from the rest of the list and are bad by themselves: a collection that is
/// dark, soft or small throughout has none. A tiny image is not called blurred as well. `crop` is
/// the side of the view that a model sees. In the order of the list.
std::vector<FaultyImage> faulty_images(std::span<const ImageLook> looks, int crop);

}  // namespace protogcd
