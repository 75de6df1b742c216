// BMP (Windows and OS/2 bitmaps): palettes of 1, 4 and 8 bits, run lengths, 16, 24 and 32 bits with
// any masks, rows from below or from above. Missing data makes a bad image, as with Pillow.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>

#include "protogcd/image/decoders.h"
#include "protogcd/image/file_bytes.h"
#include "protogcd/image/samples.h"

namespace protogcd {
namespace {

enum class BmpCompression { kNone = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3 };

constexpr std::size_t kBmpFileHeader = 14, kBmpOldHeader = 12, kBmpHeader = 40;

struct BmpHeader {
  std::int64_t width = 0, height = 0;
  bool from_top = false;
  int bits = 0;
  BmpCompression compression = BmpCompression::kNone;
  RgbPalette palette{};
  std::array<std::uint32_t, 3> masks{};  ///< red, green, blue
  std::size_t pixels = 0;                ///< where they begin

  std::size_t row_bytes() const { return (static_cast<std::size_t>(width) * bits + 31) / 32 * 4; }
};

const BadImage kTruncatedBmp{"truncated: the file ends before the image does"};

void read_bmp_palette(const FileBytes& file, std::size_t at, std::size_t colours,
                      std::size_t colour_bytes, RgbPalette& palette) {
  for (std::size_t i = 0; i < std::min(colours, palette.size()); ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const auto value = file.little_endian(at + i * colour_bytes + 2 - channel, 1);
      if (value) palette[i][channel] = static_cast<std::uint8_t>(*value);
    }
  }
}

MaybeBad read_bmp_layout(const FileBytes& file, BmpHeader& header, std::size_t& colours) {
  const auto word = [&](std::size_t at, std::size_t count) {
    return file.little_endian(kBmpFileHeader + at, count).value_or(0);
  };
  const std::uint64_t length = word(0, 4);
  if (file.size() < kBmpFileHeader + std::max<std::uint64_t>(length, kBmpOldHeader))
    return kTruncatedBmp;
  if (length == kBmpOldHeader) {
    header.width = static_cast<std::int64_t>(word(4, 2));
    header.height = static_cast<std::int64_t>(word(6, 2));
    header.bits = static_cast<int>(word(10, 2));
    return std::nullopt;
  }
  if (length < kBmpHeader) return BadImage{fmt::format("a BMP header of {} bytes", length)};
  header.width = static_cast<std::int32_t>(word(4, 4));
  header.height = static_cast<std::int32_t>(word(8, 4));
  header.from_top = header.height < 0;
  if (header.from_top) header.height = -header.height;
  header.bits = static_cast<int>(word(14, 2));
  const std::uint64_t compression = word(16, 4);
  if (compression > static_cast<int>(BmpCompression::kMasks)) {
    return BadImage{fmt::format("a BMP of compression {}, which is not read", compression)};
  }
  header.compression = static_cast<BmpCompression>(compression);
  colours = word(32, 4);
  return std::nullopt;
}

MaybeBad check_bmp_bits(const BmpHeader& header) {
  const int bits = header.bits;
  bool fits = false;
  switch (header.compression) {
    case BmpCompression::kNone:
      fits = bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
      break;
    case BmpCompression::kRuns8:
      fits = bits == 8;
      break;
    case BmpCompression::kRuns4:
      fits = bits == 4;
      break;
    case BmpCompression::kMasks:
      fits = bits == 16 || bits == 24 || bits == 32;
  }
  if (fits) return std::nullopt;
  return BadImage{fmt::format("a BMP of {} bits and compression {}, which is not read", bits,
                              static_cast<int>(header.compression))};
}

MaybeBad read_bmp_header(const FileBytes& file, BmpHeader& header) {
  std::size_t colours = 0;
  if (auto bad = read_bmp_layout(file, header, colours)) return bad;
  if (auto bad = check_bmp_bits(header)) return bad;
  const std::size_t length = *file.little_endian(kBmpFileHeader, 4);
  std::size_t after = kBmpFileHeader + length;
  header.pixels = *file.little_endian(10, 4);
  if (header.bits <= 8) {
    const std::size_t colour_bytes = length == kBmpOldHeader ? 3 : 4;
    if (colours == 0) colours = std::size_t{1} << header.bits;
    read_bmp_palette(file, after, colours, colour_bytes, header.palette);
    // Some writers forget the palette when they say where the pixels begin.
    const bool forgotten = header.pixels == after;
    after += colours * colour_bytes;
    if (forgotten) header.pixels = after;
  } else {
    header.masks = header.bits == 16 ? std::array<std::uint32_t, 3>{0x7C00, 0x3E0, 0x1F}
                                     : std::array<std::uint32_t, 3>{0xFF0000, 0xFF00, 0xFF};
    if (header.compression == BmpCompression::kMasks) {
      // They stand right after the 40 bytes, which longer headers count as their own.
      std::array<std::uint32_t, 3> masks{};
      for (std::size_t i = 0; i < masks.size(); ++i) {
        const auto mask = file.little_endian(kBmpFileHeader + kBmpHeader + 4 * i, 4);
        if (!mask) return kTruncatedBmp;
        masks[i] = static_cast<std::uint32_t>(*mask);
      }
      if (length == kBmpHeader) after += sizeof masks;
      if (masks != std::array<std::uint32_t, 3>{}) header.masks = masks;
    }
  }
  if (header.pixels == 0) header.pixels = after;
  return std::nullopt;
}

void decode_bmp_palette_row(const BmpHeader& header, const std::byte* from, std::uint8_t* to) {
  const int per_byte = 8 / header.bits, mask = (1 << header.bits) - 1;
  for (std::int64_t x = 0; x < header.width; ++x, to += 3) {
    const int shift = 8 - header.bits * (1 + static_cast<int>(x % per_byte));
    const int index = std::to_integer<int>(from[x / per_byte]) >> shift & mask;
    std::ranges::copy(header.palette[index], to);
  }
}

/// A channel of a pixel: the bits of the mask, scaled to 0 to 255.
struct BmpChannel {
  std::uint32_t mask = 0;
  int shift = 0;
  std::uint64_t largest = 0;

  explicit BmpChannel(std::uint32_t bits)
      : mask(bits), shift(bits == 0 ? 0 : std::countr_zero(bits)), largest(bits >> shift) {}
  std::uint8_t operator()(std::uint32_t pixel) const {
    return largest == 0
               ? 0
               : static_cast<std::uint8_t>(std::uint64_t{(pixel & mask) >> shift} * 255 / largest);
  }
};

void decode_bmp_colour_row(const BmpHeader& header, const std::byte* from, std::uint8_t* to) {
  const std::array<BmpChannel, 3> channels = {
      BmpChannel(header.masks[0]), BmpChannel(header.masks[1]), BmpChannel(header.masks[2])};
  const std::size_t bytes = static_cast<std::size_t>(header.bits) / 8;
  for (std::int64_t x = 0; x < header.width; ++x, from += bytes, to += 3) {
    std::uint32_t pixel = 0;
    for (std::size_t i = bytes; i-- > 0;)
      pixel = pixel << 8 | std::to_integer<std::uint32_t>(from[i]);
    for (std::size_t i = 0; i < 3; ++i) to[i] = channels[i](pixel);
  }
}

MaybeBad decode_plain_bmp(std::span<const std::byte> bytes, const BmpHeader& header,
                          Image& output) {
  output.reshape({static_cast<int>(header.width), static_cast<int>(header.height)});
  for (int row = 0; row < output.height; ++row) {
    const std::byte* from = bytes.data() + header.pixels + row * header.row_bytes();
    std::uint8_t* to = output.at(0, header.from_top ? row : output.height - 1 - row);
    (header.bits <= 8 ? decode_bmp_palette_row : decode_bmp_colour_row)(header, from, to);
  }
  return std::nullopt;
}

/// The pixels of a BMP of run lengths, as indices into its palette, in the order of the file.
class BmpRuns {
 public:
  BmpRuns(std::span<const std::byte> bytes, const BmpHeader& header)
      : bytes_(bytes),
        at_(header.pixels),
        width_(static_cast<std::size_t>(header.width)),
        height_(static_cast<std::size_t>(header.height)),
        four_bits_(header.compression == BmpCompression::kRuns4),
        indices_(width_ * height_) {}

  /// False if the file ends first. What the runs leave out is of colour 0.
  bool decode() {
    while (y_ < height_) {
      if (left() < 2) return y_ + 1 == height_ && x_ == width_;
      const std::size_t count = next();
      const std::uint8_t value = next();
      if (count > 0) {
        for (std::size_t i = 0; i < count; ++i) put(four_bits_ ? half(value, i) : value);
      } else if (value == kEndOfRow) {
        x_ = 0;
        ++y_;
      } else if (value == kEndOfImage) {
        return true;
      } else if (value == kMove) {
        if (left() < 2) return false;
        x_ = std::min(width_, x_ + next());
        y_ += next();
      } else if (!copy(value)) {
        return false;
      }
    }
    return true;
  }
  const std::vector<std::uint8_t>& indices() const { return indices_; }

 private:
  static constexpr std::uint8_t kEndOfRow = 0, kEndOfImage = 1, kMove = 2;

  std::size_t left() const { return bytes_.size() - std::min(at_, bytes_.size()); }
  std::uint8_t next() { return std::to_integer<std::uint8_t>(bytes_[at_++]); }
  /// What does not fit into its row is dropped.
  void put(std::uint8_t value) {
    if (x_ < width_) indices_[y_ * width_ + x_++] = value;
  }
  std::uint8_t half(std::uint8_t pair, std::size_t i) const {
    return i % 2 == 0 ? pair >> 4 : pair & 15;
  }
  bool copy(std::size_t count) {
    const std::size_t bytes = four_bits_ ? (count + 1) / 2 : count;
    if (left() < bytes) return false;
    std::uint8_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!four_bits_ || i % 2 == 0) value = next();
      put(four_bits_ ? half(value, i) : value);
    }
    if (bytes % 2 != 0) ++at_;
    return true;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_, width_, height_;
  bool four_bits_;
  std::vector<std::uint8_t> indices_;
  std::size_t x_ = 0, y_ = 0;
};

MaybeBad decode_bmp_runs(std::span<const std::byte> bytes, const BmpHeader& header, Image& output) {
  BmpRuns runs(bytes, header);
  if (!runs.decode()) return kTruncatedBmp;
  output.reshape({static_cast<int>(header.width), static_cast<int>(header.height)});
  auto index = runs.indices().begin();
  for (int row = 0; row < output.height; ++row) {
    std::uint8_t* to = output.at(0, header.from_top ? row : output.height - 1 - row);
    for (int x = 0; x < output.width; ++x, to += 3) std::ranges::copy(header.palette[*index++], to);
  }
  return std::nullopt;
}

}  // namespace

MaybeBad decode_bmp(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output) {
  BmpHeader header;
  if (auto bad = read_bmp_header(FileBytes(bytes), header)) return bad;
  if (auto bad = check_image_size(header.width, header.height, options)) return bad;
  const bool in_runs =
      header.compression == BmpCompression::kRuns8 || header.compression == BmpCompression::kRuns4;
  const std::size_t left = bytes.size() - std::min(header.pixels, bytes.size());
  if (in_runs) return decode_bmp_runs(bytes, header, output);
  if (left / header.row_bytes() < static_cast<std::size_t>(header.height)) return kTruncatedBmp;
  return decode_plain_bmp(bytes, header, output);
}

}  // namespace protogcd
