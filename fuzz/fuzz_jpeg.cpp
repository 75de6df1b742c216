// Bytes as a JPEG file: any input gives an image or a reason, and decoding a window gives the
// pixels of the whole.
#include <cstdint>
#include <cstring>
#include <span>

#include "protogcd/image/decoders.h"
#include "protogcd/image/exif.h"
#include "protogcd/image/image_size.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  const auto bytes = std::as_bytes(std::span(data, size));
  const DecodeOptions options{.max_pixels = 1 << 14, .max_scans = 10};
  const int orientation = exif_orientation(bytes, ImageFormat::kJpeg);
  if (orientation < 1 || orientation > 8) __builtin_trap();

  image_size(bytes);
  PartialImage whole, part;
  ImageBox wanted;
  const WantedBox middle = [&](ImageSize full) {
    wanted = {full.width / 3, full.height / 3, (full.width + 2) / 3, (full.height + 2) / 3};
    return wanted;
  };
  const auto bad = decode_jpeg(bytes, options, nullptr, whole);
  const auto bad_part = decode_jpeg(bytes, options, &middle, part);
  if (bad.has_value() != bad_part.has_value()) __builtin_trap();
  if (bad) return bad->reason.empty() ? 1 : 0;
  for (int y = wanted.top; y < wanted.bottom(); ++y) {
    if (std::memcmp(whole.pixels.at(wanted.left, y),
                    part.pixels.at(wanted.left - part.box.left, y - part.box.top),
                    std::size_t{3} * wanted.width) != 0) {
      __builtin_trap();
    }
  }
  return 0;
}
