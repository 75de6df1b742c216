// Bytes as a PNG file: any input gives an image of the size it claims or a reason.
#include <cstdint>
#include <span>

#include "protogcd/image/decoders.h"
#include "protogcd/image/exif.h"
#include "protogcd/image/image_size.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (detect_image_format(bytes) != ImageFormat::kPng) return 0;
  const int orientation = exif_orientation(bytes, ImageFormat::kPng);
  if (orientation < 1 || orientation > 8) __builtin_trap();

  image_size(bytes);
  Image image;
  const auto bad = decode_png(bytes, {.max_pixels = 1 << 16}, image);
  if (bad && bad->reason.empty()) __builtin_trap();
  if (!bad && (image.width <= 0 || image.height <= 0)) __builtin_trap();
  if (!bad) turn_upright(std::move(image), orientation);
  return 0;
}
