// Image files to RGB, as Pillow's `Image.open(f).convert("RGB")` gives it: grey is replicated,
// palettes are looked up, alpha is dropped (not blended), CMYK and YCCK are converted by Pillow's
// integer formula. One difference is meant: 16-bit samples are scaled to 8 bits (Pillow clips grey
// ones, so that anything above 255 turns white, and truncates coloured ones).
//
//   const auto result = read_image("cat.jpg");
//   if (const auto* bad = std::get_if<BadImage>(&result)) log(bad->reason);
//
// Many files in a row: ImageReader (image_reader.h) reuses its buffers and does only what a
// crop needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "protogcd/image/formats.h"
#include "protogcd/image/image.h"

namespace protogcd {

struct DecodeOptions {
  /// Turn the image upright as its EXIF data says. For users' folders; benchmark datasets are read
  /// as the published code reads them, without. TIFF, HEIC and AVIF always stand upright, as Pillow
  /// and libheif give them.
  bool apply_orientation = false;
  /// JPEG only: decode at the smallest of 1/8, 1/4, 1/2 and 1 of the size whose short side is at
  /// least this (0: full size). Faster on large photos; the pixels are no longer Pillow's.
  int fast_short_side = 0;
  /// Larger images are refused before anything is allocated. The default is where Pillow refuses.
  std::int64_t max_pixels = 178'956'970;
  std::uint64_t max_file_bytes = std::uint64_t{256} << 20;
  /// JPEG: encoders write about 10 scans; thousands of empty ones are a way to waste hours.
  int max_scans = 100;
};

ImageOrBad decode_image(std::span<const std::byte> bytes, const DecodeOptions& options = {});
ImageOrBad read_image(const std::filesystem::path& path, const DecodeOptions& options = {});

/// The whole of a regular file into `buffer`, whose memory is reused. Folders, pipes and devices
/// are refused without waiting on them.
MaybeBad read_image_file(const std::filesystem::path& path, std::uint64_t max_bytes,
                         std::vector<std::byte>& buffer);

}  // namespace protogcd
