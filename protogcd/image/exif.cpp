#include "protogcd/image/exif.h"

#include <cstring>
#include <optional>
#include <string_view>

namespace protogcd {
namespace {

using Bytes = std::span<const std::byte>;

/// Numbers at an offset, in either byte order; nothing outside the bytes.
std::optional<std::uint32_t> number_at(Bytes bytes, std::size_t offset, std::size_t count,
                                       bool big_endian) {
  if (offset > bytes.size() || bytes.size() - offset < count) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = big_endian ? offset + i : offset + count - 1 - i;
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[from]);
  }
  return value;
}

bool has_text(Bytes bytes, std::size_t offset, std::string_view text) {
  return offset <= bytes.size() && bytes.size() - offset >= text.size() &&
         std::memcmp(bytes.data() + offset, text.data(), text.size()) == 0;
}

/// A TIFF header with its first directory: the value of tag 0x0112.
int orientation_in_tiff(Bytes tiff) {
  if (!has_text(tiff, 0, "MM") && !has_text(tiff, 0, "II")) return 1;
  const bool big = has_text(tiff, 0, "MM");
  const auto directory = number_at(tiff, 4, 4, big);
  if (number_at(tiff, 2, 2, big) != 42u || !directory) return 1;
  const auto entries = number_at(tiff, *directory, 2, big);
  for (std::size_t i = 0; i < entries.value_or(0); ++i) {
    const std::size_t entry = *directory + 2 + 12 * i;
    const auto tag = number_at(tiff, entry, 2, big);
    if (!tag) return 1;
    if (*tag != 0x0112) continue;
    const auto value = number_at(tiff, entry + 8, 2, big);
    const bool is_short = number_at(tiff, entry + 2, 2, big) == 3u;
    return is_short && value && *value >= 1 && *value <= 8 ? static_cast<int>(*value) : 1;
  }
  return 1;
}

/// The first APP1 segment "Exif" before the first scan.
Bytes exif_of_jpeg(Bytes file) {
  std::size_t offset = 2;
  while (const auto marker = number_at(file, offset, 2, true)) {
    if (*marker == 0xFFFF) {  // fill byte
      ++offset;
      continue;
    }
    const auto length = number_at(file, offset + 2, 2, true);
    if (*marker < 0xFFC0 || *marker == 0xFFDA || !length || *length < 2) break;
    const Bytes rest = file.subspan(offset + 4);
    const Bytes segment = rest.first(std::min<std::size_t>(rest.size(), *length - 2));
    if (*marker == 0xFFE1 && has_text(segment, 0, {"Exif\0\0", 6})) return segment.subspan(6);
    offset += 2 + *length;
  }
  return {};
}

Bytes exif_of_png(Bytes file) {
  std::size_t offset = 8;
  while (const auto length = number_at(file, offset, 4, true)) {
    if (has_text(file, offset + 4, "eXIf")) {
      const Bytes rest = file.subspan(offset + 8);
      return rest.first(std::min<std::size_t>(rest.size(), *length));
    }
    offset += std::size_t{12} + *length;
  }
  return {};
}

Bytes exif_of_webp(Bytes file) {
  std::size_t offset = 12;
  while (const auto length = number_at(file, offset + 4, 4, false)) {
    if (has_text(file, offset, "EXIF")) {
      const Bytes rest = file.subspan(offset + 8);
      const Bytes exif = rest.first(std::min<std::size_t>(rest.size(), *length));
      // Some writers keep the prefix that JPEG needs.
      return has_text(exif, 0, {"Exif\0\0", 6}) ? exif.subspan(6) : exif;
    }
    offset += std::size_t{8} + *length + (*length & 1);
  }
  return {};
}

}  // namespace

int exif_orientation(Bytes file, ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return orientation_in_tiff(exif_of_jpeg(file));
    case ImageFormat::kPng:
      return orientation_in_tiff(exif_of_png(file));
    case ImageFormat::kWebp:
      return orientation_in_tiff(exif_of_webp(file));
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
