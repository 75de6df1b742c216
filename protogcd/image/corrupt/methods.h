// One function per corruption, in the files noise, blur, weather and digital. An image of at least
// one pixel and a severity of 1 to 5 are taken for granted: `corrupt` checks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "protogcd/core/random.h"
#include "protogcd/image/image.h"

namespace protogcd::corruption {

/// The published constants: CIFAR-C's were made for 32 pixels, ImageNet-C's for 224.
template <class Constants>
struct SeverityTable {
  std::array<Constants, 5> cifar, imagenet;

  const Constants& at(ImageSize size, int severity) const {
    constexpr int kLongestCifarSide = 64;
    const bool is_small = std::min(size.width, size.height) <= kLongestCifarSide;
    return (is_small ? cifar : imagenet)[static_cast<std::size_t>(severity - 1)];
  }
};

Image gaussian_noise(const Image& image, int severity, RandomStream& random);
Image shot_noise(const Image& image, int severity, RandomStream& random);
Image impulse_noise(const Image& image, int severity, RandomStream& random);

Image defocus_blur(const Image& image, int severity, RandomStream& random);
Image glass_blur(const Image& image, int severity, RandomStream& random);
Image motion_blur(const Image& image, int severity, RandomStream& random);
Image zoom_blur(const Image& image, int severity, RandomStream& random);

Image snow(const Image& image, int severity, RandomStream& random);
Image frost(const Image& image, int severity, RandomStream& random);
Image fog(const Image& image, int severity, RandomStream& random);
Image brightness(const Image& image, int severity, RandomStream& random);

Image contrast(const Image& image, int severity, RandomStream& random);
Image elastic_transform(const Image& image, int severity, RandomStream& random);
Image pixelate(const Image& image, int severity, RandomStream& random);
Image jpeg_compression(const Image& image, int severity, RandomStream& random);

}  // namespace protogcd::corruption
