#include "protogcd/image/image_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/image/transform.h"

namespace protogcd {
namespace {

/// From this many pixels on, decoding a window of a JPEG pays: 10% of the decoding time at 640x480,
/// 20% at 2048x1536. At 500x375 finding the window costs what it saves.
constexpr std::int64_t kWindowPaysFrom = 250'000;

BadImage too_elongated(ImageSize size, int short_side) {
  return {fmt::format("{}x{} is too elongated to be resized to a short side of {}", size.width,
                      size.height, short_side)};
}

/// What of the window lies within the image; without pixels where nothing does.
ImageBox clipped(const ImageBox& box, ImageSize size) {
  const int left = std::max(box.left, 0), top = std::max(box.top, 0);
  return {left, top, std::max(0, std::min(box.right(), size.width) - left),
          std::max(0, std::min(box.bottom(), size.height) - top)};
}

}  // namespace

MaybeBad ImageReader::read_center_view(const std::filesystem::path& path, const ViewSize& view,
                                       Image& output) {
  if (auto bad = read_image_file(path, options_.max_file_bytes, file_)) return bad;
  return decode_center_view(file_, view, output);
}

MaybeBad ImageReader::decode_center_view(std::span<const std::byte> bytes, const ViewSize& view,
                                         Image& output) {
  if (view.crop <= 0 || view.short_side < view.crop) {
    throw InternalError(
        fmt::format("a crop of {} from a short side of {}", view.crop, view.short_side));
  }
  const WantedBox wanted = [&](ImageSize full) -> ImageBox {
    const auto target = size_with_short_side(full, view.short_side);
    if (!target || full.pixels() < kWindowPaysFrom) return {0, 0, full.width, full.height};
    return source_box(full, *target, center_crop_box(*target, view.crop));
  };
  if (auto bad = decode_any(bytes, options_, &wanted, decoded_)) return bad;
  const auto target = size_with_short_side(decoded_.full, view.short_side);
  if (!target) return too_elongated(decoded_.full, view.short_side);
  const ImageBox crop = center_crop_box(*target, view.crop);
  resizer_.resize(decoded_.pixels, decoded_.full, decoded_.box, *target, crop, output);
  return std::nullopt;
}

MaybeBad ImageReader::read_resized(const std::filesystem::path& path, int short_side,
                                   Image& output) {
  if (auto bad = read_image_file(path, options_.max_file_bytes, file_)) return bad;
  return decode_resized(file_, short_side, output);
}

MaybeBad ImageReader::decode_resized(std::span<const std::byte> bytes, int short_side,
                                     Image& output) {
  if (auto bad = decode_any(bytes, options_, nullptr, decoded_)) return bad;
  const auto target = size_with_short_side(decoded_.full, short_side);
  if (!target || target->pixels() > kMaxResizedPixels) {
    return too_elongated(decoded_.full, short_side);
  }
  resizer_.resize(decoded_.pixels, decoded_.full, decoded_.box, *target,
                  {0, 0, target->width, target->height}, output);
  return std::nullopt;
}

MaybeBad ImageReader::read_part(const std::filesystem::path& path, const ImageBox& part,
                                Image& output) {
  if (auto bad = read_image_file(path, options_.max_file_bytes, file_)) return bad;
  DecodeOptions exact = options_;
  exact.fast_short_side = 0;
  const WantedBox wanted = [&](ImageSize full) -> ImageBox {
    const ImageBox inside = clipped(part, full);
    const bool window = inside.width > 0 && inside.height > 0 && full.pixels() >= kWindowPaysFrom;
    return window ? inside : ImageBox{0, 0, full.width, full.height};
  };
  if (auto bad = decode_any(file_, exact, &wanted, decoded_)) return bad;
  ImageBox inside = clipped(part, decoded_.full);
  if (inside.width == 0 || inside.height == 0) {
    return BadImage{fmt::format("the box {},{},{},{} lies outside of the image of {}x{} pixels",
                                part.left, part.top, part.width, part.height, decoded_.full.width,
                                decoded_.full.height)};
  }
  inside.left -= decoded_.box.left;
  inside.top -= decoded_.box.top;
  output = crop_image(decoded_.pixels, inside);
  return std::nullopt;
}

}  // namespace protogcd
