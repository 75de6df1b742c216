#include "protogcd/image/resize.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

ImageBox whole(ImageSize size) {
  return {0, 0, size.width, size.height};
}

/// Half of an odd number goes to the even neighbour, as Python's round does.
int half_to_even(int value) {
  const int half = value / 2;
  return value % 2 == 0 ? half : half + half % 2;
}

void check_fits(ImageSize size, int crop) {
  if (crop <= 0 || size.width < crop || size.height < crop) {
    throw DataError(fmt::format("an image of {}x{} is smaller than the crop of {}", size.width,
                                size.height, crop));
  }
}

}  // namespace

ViewSize ViewSize::for_crop(int crop) {
  return {static_cast<int>(std::lround(crop / 0.875)), crop};
}

std::optional<ImageSize> size_with_short_side(ImageSize size, int short_side) {
  const auto [shorter, longer] = std::minmax(size.width, size.height);
  if (shorter == short_side) return size;
  const std::int64_t long_side = std::int64_t{short_side} * longer / shorter;
  if (long_side > std::numeric_limits<int>::max()) return std::nullopt;
  const int side = static_cast<int>(long_side);
  return size.width <= size.height ? ImageSize{short_side, side} : ImageSize{side, short_side};
}

ImageBox center_crop_box(ImageSize size, int crop) {
  check_fits(size, crop);
  return {half_to_even(size.width - crop), half_to_even(size.height - crop), crop, crop};
}

RandomView draw_random_view(ImageSize size, int crop, RandomStream& stream) {
  check_fits(size, crop);
  const auto top = static_cast<int>(stream.between(0, size.height - crop));
  const auto left = static_cast<int>(stream.between(0, size.width - crop));
  return {{left, top, crop, crop}, stream.chance(0.5)};
}

ImageBox source_box(ImageSize full, ImageSize target, const ImageBox& crop) {
  const auto [left, right] = resample_sources(full.width, target.width, crop.left, crop.width);
  const auto [top, bottom] = resample_sources(full.height, target.height, crop.top, crop.height);
  return {left, top, right - left, bottom - top};
}

Resizer::Resizer() : Resizer(available_resample_kernels().back()) {}

Resizer::Resizer(ResampleKernel kernel) : kernel_(kernel), functions_(resample_functions(kernel)) {}

/// The horizontal pass over source rows [first_row, first_row + row_count) of the full image.
void Resizer::resize_rows(const Image& source, const ImageBox& held, int first_row, int row_count) {
  const std::size_t source_pitch = std::size_t{3} * source.width;
  // Kernels read all taps, also those of weight 0: rows near the end of the memory are copied to
  // where there is room behind them.
  const std::size_t room = std::size_t{3} * horizontal_.taps + kReadPadding;
  const std::size_t padded_pitch = source_pitch + room;
  padded_.resize(padded_pitch * kRowsAtOnce);
  for (int row = 0; row < row_count; row += kRowsAtOnce) {
    const std::uint8_t* inputs[kRowsAtOnce];
    std::uint8_t* outputs[kRowsAtOnce];
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const int wanted = std::min(row + i, row_count - 1);
      const std::size_t offset =
          source_pitch * static_cast<std::size_t>(first_row + wanted - held.top);
      const std::uint8_t* input = source.pixels.data() + offset;
      if (offset + padded_pitch > source.pixels.size()) {
        std::uint8_t* copy = padded_.data() + padded_pitch * i;
        std::memcpy(copy, input, source_pitch);
        input = copy;
      }
      inputs[i] = input;
      // Rows past the last one go to a spare place behind it.
      outputs[i] = rows_.data() + pitch_ * (row + i);
    }
    functions_.horizontal(horizontal_, inputs, outputs);
  }
}

void Resizer::resize(const Image& source, ImageSize full, const ImageBox& held, ImageSize target,
                     const ImageBox& crop, Image& output) {
  horizontal_.build(full.width, target.width, crop.left, crop.width, kernel_);
  vertical_.build(full.height, target.height, crop.top, crop.height, kernel_);
  const auto [first_row, last_row] =
      resample_sources(full.height, target.height, crop.top, crop.height);
  for (int& start : horizontal_.starts) start -= held.left;

  const int row_count = last_row - first_row;
  const std::size_t row_bytes = std::size_t{3} * crop.width;
  pitch_ = (row_bytes + kWritePadding + 63) / 64 * 64;
  rows_.resize(pitch_ * (row_count + kRowsAtOnce) + kReadPadding);
  resize_rows(source, held, first_row, row_count);

  output.reshape({crop.width, crop.height});
  std::vector<const std::uint8_t*> inputs(vertical_.taps);
  for (int y = 0; y < crop.height; ++y) {
    const int start = vertical_.starts[y] - first_row;
    for (int tap = 0; tap < vertical_.taps; ++tap) {
      const int row = std::min(start + tap, row_count - 1);  // beyond: weight 0
      inputs[tap] = rows_.data() + pitch_ * row;
    }
    functions_.vertical(vertical_, y, inputs.data(), row_bytes, output.at(0, y));
  }
}

Image resize_and_crop(const Image& image, ImageSize target, const ImageBox& crop) {
  Image output;
  Resizer().resize(image, image.size(), whole(image.size()), target, crop, output);
  return output;
}

Image resize_bicubic(const Image& image, ImageSize target) {
  return resize_and_crop(image, target, whole(target));
}

ImageOrBad resize_short_side(const Image& image, int short_side) {
  const auto target = size_with_short_side(image.size(), short_side);
  if (!target || target->pixels() > kMaxResizedPixels) {
    return BadImage{
        fmt::format("{}x{} is too elongated: with a short side of {} it would exceed {} pixels",
                    image.width, image.height, short_side, kMaxResizedPixels)};
  }
  if (*target == image.size()) return image;
  return resize_bicubic(image, *target);
}

}  // namespace protogcd
