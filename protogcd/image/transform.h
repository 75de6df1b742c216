// What is done to pixels after resizing: cropping, mirroring, and the network's input numbers.
#pragma once

#include <array>
#include <span>

#include "protogcd/image/image.h"

namespace protogcd {

/// A copy of the window; throws DataError where it leaves the image.
Image crop_image(const Image& image, const ImageBox& box);

/// Per channel (value / 255 - mean) / standard deviation, as torchvision's ToTensor and Normalize.
/// The defaults are ImageNet's, which every backbone here was trained with.
struct Normalization {
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};
  std::array<float, 3> deviation = {0.229f, 0.224f, 0.225f};
};

/// Window `box` of the image, mirrored if `flip`, as it is: [box.height, box.width, 3]. DataError
/// as above.
void copy_window(const Image& image, const ImageBox& box, bool flip,
                 std::span<std::uint8_t> output);

/// The 256 values each channel can take, computed once for many images.
class Normalizer {
 public:
  explicit Normalizer(const Normalization& normalization = {});

  /// Window `box` of the image, mirrored if `flip`, into `output` [3, box.height, box.width].
  /// Allocates nothing. Throws DataError where the window leaves the image or `output` has another
  /// size.
  void apply(const Image& image, const ImageBox& box, bool flip, std::span<float> output) const;

 private:
  std::array<std::array<float, 256>, 3> values_;
};

}  // namespace protogcd
