// Bytes as a HEIC or AVIF file: any input gives an image of the size it claims or a reason.
#include <cstdint>
#include <span>

#include "protogcd/image/decoders.h"
#include "protogcd/image/image_size.h"

// dav1d 1.0.0, as libheif 1.15.1 calls it, loses 40 bytes with some damaged files.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libdav1d";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (detect_image_format(bytes) != ImageFormat::kHeif) return 0;

  image_size(bytes);
  Image image;
  const auto bad = decode_heif(bytes, {.max_pixels = 1 << 16}, image);
  if (bad && bad->reason.empty()) __builtin_trap();
  if (!bad && (image.width <= 0 || image.height <= 0)) __builtin_trap();
  return 0;
}
