// Bytes as a TIFF file: any input gives an image of the size it claims or a reason.
#include <cstdint>
#include <fstream>
#include <span>

#include "fuzz/structured.h"
#include "protogcd/core/scratch_folder.h"
#include "protogcd/image/decoders.h"
#include "protogcd/image/exif.h"
#include "protogcd/image/image_size.h"
#include "protogcd/image/tiff_directory.h"

PROTOGCD_MUTATED_BY(mutate_tiff)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (detect_image_format(bytes) != ImageFormat::kTiff) return 0;
  const int orientation = exif_orientation(bytes, ImageFormat::kTiff);
  if (orientation < 1 || orientation > 8) __builtin_trap();

  static const ScratchFolder folder;
  const auto file = folder / "image.tif";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  has_several_tiff_pages(file);
  image_size(bytes);
  Image image;
  const auto bad = decode_tiff(bytes, {.max_pixels = 1 << 16}, image);
  if (bad && bad->reason.empty()) __builtin_trap();
  if (!bad && (image.width <= 0 || image.height <= 0)) __builtin_trap();
  if (!bad) turn_upright(std::move(image), orientation);
  return 0;
}
