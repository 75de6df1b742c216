#include "protogcd/image/image_size.h"

#include <cstdint>
#include <cstdlib>

#include "protogcd/image/decode.h"
#include "protogcd/image/file_bytes.h"
#include "protogcd/image/tiff_directory.h"

namespace protogcd {
namespace {

using HeaderNumber = std::optional<std::uint64_t>;

std::optional<ImageSize> sized(HeaderNumber width, HeaderNumber height) {
  constexpr std::uint64_t kLargest = INT32_MAX;
  if (!width || !height || *width - 1 >= kLargest || *height - 1 >= kLargest) return std::nullopt;
  return ImageSize{static_cast<int>(*width), static_cast<int>(*height)};
}

/// A segment is FF, a marker, and a length that counts itself; the frame's segment has the size.
std::optional<ImageSize> jpeg_size(const FileBytes& bytes) {
  std::size_t at = 2;
  while (const auto start = bytes.big_endian(at, 2)) {
    const auto marker = *start & 0xFF;
    if (*start >> 8 != 0xFF) return std::nullopt;
    if (marker == 0xFF) {  // filling
      ++at;
      continue;
    }
    const bool is_frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
                          marker != 0xCC;  // those three are tables
    if (is_frame) return sized(bytes.big_endian(at + 7, 2), bytes.big_endian(at + 5, 2));
    const auto length = bytes.big_endian(at + 2, 2);
    if (!length || *length < 2) return std::nullopt;
    at += 2 + static_cast<std::size_t>(*length);
  }
  return std::nullopt;
}

std::optional<ImageSize> webp_size(const FileBytes& bytes) {
  constexpr int kLow14 = 0x3FFF;
  const auto plus_one = [](HeaderNumber value) {
    return value ? std::optional(*value + 1) : std::nullopt;
  };
  if (bytes.has_text(12, "VP8X"))
    return sized(plus_one(bytes.little_endian(24, 3)), plus_one(bytes.little_endian(27, 3)));
  if (bytes.has_text(12, "VP8L")) {
    // 14 bits of width - 1, then 14 of height - 1, then four others
    const auto low = bytes.little_endian(21, 2), high = bytes.little_endian(23, 2);
    if (!low || !high) return std::nullopt;
    return sized((*low & kLow14) + 1, ((*low >> 14 | *high << 2) & kLow14) + 1);
  }
  const auto width = bytes.little_endian(26, 2), height = bytes.little_endian(28, 2);
  if (!bytes.has_text(12, "VP8 ") || !width || !height) return std::nullopt;
  return sized(*width & kLow14, *height & kLow14);
}

std::optional<ImageSize> bmp_size(const FileBytes& bytes) {
  constexpr std::uint64_t kOldHeader = 12;
  if (bytes.little_endian(14, 4) == kOldHeader) {
    return sized(bytes.little_endian(18, 2), bytes.little_endian(20, 2));
  }
  const auto height = bytes.little_endian(22, 4);
  if (!height) return std::nullopt;
  const auto rows = static_cast<std::int32_t>(*height);  // negative: from top to bottom
  return sized(bytes.little_endian(18, 4), std::abs(std::int64_t{rows}));
}

/// A box is its length, which counts itself, a name of four letters, and its content.
FileBytes heif_box(const FileBytes& boxes, std::string_view name) {
  std::uint64_t at = 0;
  while (const auto length = boxes.big_endian(at, 4)) {
    if (*length < 8) break;
    if (boxes.has_text(at + 4, name)) return FileBytes(boxes.part(at + 8, *length - 8));
    at += *length;
  }
  return FileBytes({});
}

/// The largest of the sizes that are said: photos are put together from tiles and have thumbnails.
std::optional<ImageSize> heif_size(const FileBytes& bytes) {
  const FileBytes meta = heif_box(bytes, "meta");
  const FileBytes properties =
      heif_box(heif_box(FileBytes(meta.part(4, meta.size())), "iprp"), "ipco");
  std::optional<ImageSize> largest;
  std::uint64_t at = 0;
  while (const auto length = properties.big_endian(at, 4)) {
    if (*length < 8) break;
    if (properties.has_text(at + 4, "ispe")) {
      const auto size = sized(properties.big_endian(at + 12, 4), properties.big_endian(at + 16, 4));
      if (size && (!largest || size->pixels() > largest->pixels())) largest = size;
    }
    at += *length;
  }
  return largest;
}

}  // namespace

std::optional<ImageSize> image_size(std::span<const std::byte> bytes) {
  const FileBytes header(bytes);
  switch (detect_image_format(bytes)) {
    case ImageFormat::kJpeg:
      return jpeg_size(header);
    case ImageFormat::kPng:
      return sized(header.big_endian(16, 4), header.big_endian(20, 4));
    case ImageFormat::kWebp:
      return webp_size(header);
    case ImageFormat::kTiff:
      return sized(tiff_value(bytes, TiffTag::kImageWidth),
                   tiff_value(bytes, TiffTag::kImageLength));
    case ImageFormat::kBmp:
      return bmp_size(header);
    case ImageFormat::kGif:
      return sized(header.little_endian(6, 2), header.little_endian(8, 2));
    case ImageFormat::kHeif:
      return heif_size(header);
    case ImageFormat::kUnknown:
      break;
  }
  return std::nullopt;
}

}  // namespace protogcd
