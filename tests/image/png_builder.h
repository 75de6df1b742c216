// PNG files of any kind, byte by byte: what our own encoder never writes.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace protogcd::testing {

inline std::string png_number(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size()));
  return png_number(static_cast<std::uint32_t>(data.size())) + body +
         png_number(static_cast<std::uint32_t>(sum));
}

struct PngKind {
  int width = 1, height = 1, depth = 8, colour = 0, interlaced = 0;
  std::string before_data = {};  ///< whole chunks: a palette, transparency
};

/// `rows` are the filtered rows: each begins with its filter type.
inline std::string build_png(const PngKind& kind, const std::string& rows) {
  std::string header = png_number(kind.width) + png_number(kind.height);
  for (const int value : {kind.depth, kind.colour, 0, 0, kind.interlaced}) {
    header += static_cast<char>(value);
  }
  std::string packed(compressBound(uLong(rows.size())), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(rows.data()), uLong(rows.size()));
  packed.resize(size);
  return "\x89PNG\r\n\x1A\n" + png_chunk("IHDR", header) + kind.before_data +
         png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

}  // namespace protogcd::testing
