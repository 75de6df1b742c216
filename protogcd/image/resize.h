// Pillow's bicubic resize, bit for bit, and the sizes and windows of the published preprocessing:
// short side to 256, then a crop of 224 (Resize and CenterCrop or RandomCrop of torchvision).
// Rows are resized first, then columns, as every Pillow up to 12 does (published results come from
// those). Pillow 13 takes the columns of tall images first; values of photos then differ by 1 or 2.
#pragma once

#include <optional>
#include <vector>

#include "protogcd/core/random.h"
#include "protogcd/image/image.h"
#include "protogcd/image/resample.h"

namespace protogcd {

/// A view of an image: the short side it is resized to, and the side of the square cut out of it.
struct ViewSize {
  int short_side = 256;
  int crop = 224;

  /// The published proportion: a crop is 0.875 of the short side.
  static ViewSize for_crop(int crop);
};

/// A resized image beyond this is refused: an image of 1x20000 would become 256x5120000.
constexpr std::int64_t kMaxResizedPixels = std::int64_t{1} << 26;

/// The long side becomes short_side * long / short, rounded down, as in torchvision; an image whose
/// short side fits already keeps its size. Nothing where the long side exceeds what an int can
/// count.
std::optional<ImageSize> size_with_short_side(ImageSize size, int short_side);

/// The window of a centre crop; an offset of half a pixel is rounded to the even one. Throws
/// DataError where the image is smaller than the crop.
ImageBox center_crop_box(ImageSize size, int crop);

/// A training view: where the crop lies, and whether it is mirrored.
struct RandomView {
  ImageBox box;
  bool flip = false;
};

/// Uniform over all positions (the row is drawn first, then the column), then the flip.
RandomView draw_random_view(ImageSize size, int crop, RandomStream& stream);

/// Resizes images one after another and keeps its buffers; one per thread.
class Resizer {
 public:
  Resizer();
  explicit Resizer(ResampleKernel kernel);

  /// Window `crop` of `source` resized to `target`; computes no other pixel. `source` holds the
  /// window `held` of an image of size `full`, at least source_box(full, target, crop).
  void resize(const Image& source, ImageSize full, const ImageBox& held, ImageSize target,
              const ImageBox& crop, Image& output);

 private:
  void resize_rows(const Image& source, const ImageBox& held, int first_row, int row_count);

  ResampleKernel kernel_;
  ResampleFunctions functions_;
  ResampleAxis horizontal_, vertical_;
  std::vector<std::uint8_t> rows_;    ///< horizontally resized, [rows, pitch_]
  std::vector<std::uint8_t> padded_;  ///< copies of rows that end too near the end of the memory
  std::size_t pitch_ = 0;
};

/// The source pixels that window `crop` of the image resized to `target` is made of.
ImageBox source_box(ImageSize full, ImageSize target, const ImageBox& crop);

Image resize_bicubic(const Image& image, ImageSize target);
Image resize_and_crop(const Image& image, ImageSize target, const ImageBox& crop);
/// The whole image with this short side, for crops taken later.
ImageOrBad resize_short_side(const Image& image, int short_side);

}  // namespace protogcd
