#include "protogcd/image/image_size.h"

#include <cstdint>

#include "protogcd/image/decode.h"

namespace protogcd {
namespace {

/// Numbers at any place of a header; beyond its end they are nothing.
class HeaderBytes {
 public:
  explicit HeaderBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::optional<int> big_endian(std::size_t at, std::size_t count) const {
    return number(at, count, [count](std::size_t i) { return count - 1 - i; });
  }
  std::optional<int> little_endian(std::size_t at, std::size_t count) const {
    return number(at, count, [](std::size_t i) { return i; });
  }
  bool has_text(std::size_t at, std::string_view text) const {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (at + i >= bytes_.size() || static_cast<char>(bytes_[at + i]) != text[i]) return false;
    }
    return true;
  }

 private:
  template <class Place>
  std::optional<int> number(std::size_t at, std::size_t count, Place place) const {
    if (at > bytes_.size() || count > bytes_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
      value |= std::to_integer<std::uint32_t>(bytes_[at + i]) << (8 * place(i));
    return value <= INT32_MAX ? std::optional(static_cast<int>(value)) : std::nullopt;
  }

  std::span<const std::byte> bytes_;
};

std::optional<ImageSize> sized(std::optional<int> width, std::optional<int> height) {
  if (!width || !height || *width < 1 || *height < 1) return std::nullopt;
  return ImageSize{*width, *height};
}

/// A segment is FF, a marker, and a length that counts itself; the frame's segment has the size.
std::optional<ImageSize> jpeg_size(const HeaderBytes& bytes) {
  std::size_t at = 2;
  while (const auto start = bytes.big_endian(at, 2)) {
    const int marker = *start & 0xFF;
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

std::optional<ImageSize> webp_size(const HeaderBytes& bytes) {
  constexpr int kLow14 = 0x3FFF;
  const auto plus_one = [](std::optional<int> value) {
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

}  // namespace

std::optional<ImageSize> image_size(std::span<const std::byte> bytes) {
  const HeaderBytes header(bytes);
  switch (detect_image_format(bytes)) {
    case ImageFormat::kJpeg:
      return jpeg_size(header);
    case ImageFormat::kPng:
      return sized(header.big_endian(16, 4), header.big_endian(20, 4));
    case ImageFormat::kWebp:
      return webp_size(header);
    case ImageFormat::kUnknown:
      break;
  }
  return std::nullopt;
}

}  // namespace protogcd
