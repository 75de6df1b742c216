#include "protogcd/image/exif.h"

#include <cstring>

#include "protogcd/image/file_bytes.h"
#include "protogcd/image/tiff_directory.h"

namespace protogcd {
namespace {

using Bytes = std::span<const std::byte>;

/// EXIF data is a small TIFF file.
int orientation_in_tiff(Bytes tiff) {
  const auto value = tiff_value(tiff, TiffTag::kOrientation);
  return value && *value >= 1 && *value <= 8 ? static_cast<int>(*value) : 1;
}

/// The first APP1 segment "Exif" before the first scan.
Bytes exif_of_jpeg(FileBytes file) {
  std::size_t offset = 2;
  while (const auto marker = file.big_endian(offset, 2)) {
    if (*marker == 0xFFFF) {  // fill byte
      ++offset;
      continue;
    }
    const auto length = file.big_endian(offset + 2, 2);
    if (*marker < 0xFFC0 || *marker == 0xFFDA || !length || *length < 2) break;
    const Bytes segment = file.part(offset + 4, *length - 2);
    if (*marker == 0xFFE1 && FileBytes(segment).has_text(0, {"Exif\0\0", 6})) {
      return segment.subspan(6);
    }
    offset += 2 + *length;
  }
  return {};
}

Bytes exif_of_png(FileBytes file) {
  std::size_t offset = 8;
  while (const auto length = file.big_endian(offset, 4)) {
    if (file.has_text(offset + 4, "eXIf")) return file.part(offset + 8, *length);
    offset += std::size_t{12} + *length;
  }
  return {};
}

Bytes exif_of_webp(FileBytes file) {
  std::size_t offset = 12;
  while (const auto length = file.little_endian(offset + 4, 4)) {
    if (file.has_text(offset, "EXIF")) {
      const Bytes exif = file.part(offset + 8, *length);
      // Some writers keep the prefix that JPEG needs.
      return FileBytes(exif).has_text(0, {"Exif\0\0", 6}) ? exif.subspan(6) : exif;
    }
    offset += std::size_t{8} + *length + (*length & 1);
  }
  return {};
}

}  // namespace

int exif_orientation(Bytes file, ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return orientation_in_tiff(exif_of_jpeg(FileBytes(file)));
    case ImageFormat::kPng:
      return orientation_in_tiff(exif_of_png(FileBytes(file)));
    case ImageFormat::kWebp:
      return orientation_in_tiff(exif_of_webp(FileBytes(file)));
    case ImageFormat::kTiff:
      return orientation_in_tiff(file);
    case ImageFormat::kHeif:  // libheif turns it by the container's own word
    case ImageFormat::kBmp:
    case ImageFormat::kGif:
    case ImageFormat::kUnknown:
      break;
  }
  return 1;
}

Image turn_upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool swaps_sides = orientation >= 5;
  const int width = swaps_sides ? image.height : image.width;
  const int height = swaps_sides ? image.width : image.height;
  // Where the upright image's x and y run backwards along the stored axis they read from.
  const bool x_backwards =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool y_backwards =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Image upright(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int along_x = x_backwards ? width - 1 - x : x;
      const int along_y = y_backwards ? height - 1 - y : y;
      const std::uint8_t* from =
          swaps_sides ? image.at(along_y, along_x) : image.at(along_x, along_y);
      std::memcpy(upright.at(x, y), from, 3);
    }
  }
  return upright;
}

}  // namespace protogcd
