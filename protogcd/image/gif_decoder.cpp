// GIF: the first frame, on the whole canvas. Pixels outside the frame and transparent ones have the
// colour that the palette gives them, as in Pillow's RGB.
#include <algorithm>
#include <array>

#include "protogcd/image/decoders.h"
#include "protogcd/image/file_bytes.h"
#include "protogcd/image/samples.h"

namespace protogcd {
namespace {

const BadImage kTruncatedGif{"truncated: the file ends before the image does"};
const BadImage kDamagedGif{"damaged GIF"};

struct GifFrame {
  ImageSize canvas;
  ImageBox box;
  bool interlaced = false;
  RgbPalette palette = grey_palette();
  std::uint8_t background = 0;  ///< index of the pixels around the frame
  std::size_t data = 0;         ///< where the pixels' code begins
};

/// The palette that the flags announce, and where it ends.
std::size_t read_gif_palette(const FileBytes& file, std::size_t at, int flags,
                             RgbPalette& palette) {
  constexpr int kHasPalette = 0x80;
  if ((flags & kHasPalette) == 0) return at;
  const std::size_t colours = std::size_t{2} << (flags & 7);
  palette = {};
  for (std::size_t i = 0; i < 3 * colours; ++i) {
    if (const auto value = file.little_endian(at + i, 1))
      palette[i / 3][i % 3] = static_cast<std::uint8_t>(*value);
  }
  return at + 3 * colours;
}

/// Where the blocks that begin here end: each is its length and that many bytes, the last is 0.
std::optional<std::size_t> end_of_gif_blocks(const FileBytes& file, std::size_t at) {
  while (const auto length = file.little_endian(at, 1)) {
    at += 1 + *length;
    if (*length == 0) return at;
  }
  return std::nullopt;
}

/// Reads on to the first frame.
MaybeBad find_gif_frame(const FileBytes& file, GifFrame& frame) {
  constexpr std::uint64_t kExtension = '!', kImage = ',', kGraphicControl = 0xF9;
  constexpr int kInterlaced = 0x40;
  const auto number = [&](std::size_t at, std::size_t count) {
    return static_cast<int>(file.little_endian(at, count).value_or(0));
  };
  frame.canvas = {number(6, 2), number(8, 2)};
  std::size_t at = read_gif_palette(file, 13, number(10, 1), frame.palette);
  while (const auto kind = file.little_endian(at++, 1)) {
    if (kind == kExtension) {
      // Its name, then blocks: the first of a graphic control has flags, a time and an index.
      if (file.little_endian(at, 1) == kGraphicControl && number(at + 1, 1) >= 4) {
        frame.background =
            static_cast<std::uint8_t>((number(at + 2, 1) & 1) != 0 ? number(at + 5, 1) : 0);
      }
      const auto end = end_of_gif_blocks(file, at + 1);
      if (!end) return kTruncatedGif;
      at = *end;
    } else if (kind == kImage) {
      frame.box = {number(at, 2), number(at + 2, 2), number(at + 4, 2), number(at + 6, 2)};
      frame.canvas = {std::max(frame.canvas.width, frame.box.right()),
                      std::max(frame.canvas.height, frame.box.bottom())};
      frame.interlaced = (number(at + 8, 1) & kInterlaced) != 0;
      frame.data = read_gif_palette(file, at + 9, number(at + 8, 1), frame.palette);
      return std::nullopt;
    } else if (kind == std::uint64_t{';'}) {
      return BadImage{"a GIF without an image"};
    }
  }
  return kTruncatedGif;
}

/// The bits of a chain of blocks, lowest first.
class GifCodes {
 public:
  GifCodes(const FileBytes& file, std::size_t at) : file_(file), at_(at) {}

  std::optional<int> next(int bits) {
    while (available_ < bits) {
      if (left_ == 0) {
        left_ = file_.little_endian(at_++, 1).value_or(0);
        if (left_ == 0) return std::nullopt;
      }
      const auto byte = file_.little_endian(at_++, 1);
      if (!byte) return std::nullopt;
      --left_;
      buffer_ |= static_cast<std::uint32_t>(*byte) << available_;
      available_ += 8;
    }
    const int code = static_cast<int>(buffer_ & ((1U << bits) - 1));
    buffer_ >>= bits;
    available_ -= bits;
    return code;
  }

 private:
  FileBytes file_;
  std::size_t at_;
  std::uint64_t left_ = 0;  ///< bytes of this block
  std::uint32_t buffer_ = 0;
  int available_ = 0;
};

/// LZW: a code stands for the pixels of an earlier code and one more.
MaybeBad decode_gif_codes(const FileBytes& file, std::size_t at,
                          std::vector<std::uint8_t>& pixels) {
  constexpr int kMostBits = 12, kMostCodes = 1 << kMostBits, kNone = -1;
  const auto first_bits = file.little_endian(at, 1);
  if (!first_bits) return kTruncatedGif;
  if (*first_bits < 1 || *first_bits > 8) return kDamagedGif;
  const int clear = 1 << *first_bits, end = clear + 1;
  std::array<std::int16_t, kMostCodes> before{};
  std::array<std::uint8_t, kMostCodes> last{};
  std::array<std::uint8_t, kMostCodes + 1> reversed{};
  for (int i = 0; i < clear; ++i) last[i] = static_cast<std::uint8_t>(i);
  int bits = static_cast<int>(*first_bits) + 1, free_code = end + 1, previous = kNone;
  std::uint8_t first = 0;
  std::size_t filled = 0;
  GifCodes codes(file, at + 1);
  while (filled < pixels.size()) {
    const auto code = codes.next(bits);
    if (!code || *code == end) return kTruncatedGif;
    if (*code == clear) {
      bits = static_cast<int>(*first_bits) + 1;
      free_code = end + 1;
      previous = kNone;
      continue;
    }
    if (*code > free_code || (*code >= clear && previous == kNone) ||
        (*code == free_code && free_code == kMostCodes)) {
      return kDamagedGif;
    }
    std::size_t length = 0;
    int link = *code;
    if (*code == free_code) {  // the code that is made right now
      reversed[length++] = first;
      link = previous;
    }
    for (; link > end; link = before[link]) reversed[length++] = last[link];
    first = last[link];
    reversed[length++] = first;
    for (; length > 0 && filled < pixels.size(); --length) pixels[filled++] = reversed[length - 1];
    if (previous != kNone && free_code < kMostCodes) {
      before[free_code] = static_cast<std::int16_t>(previous);
      last[free_code] = first;
      ++free_code;
      if (free_code == 1 << bits && bits < kMostBits) ++bits;
    }
    previous = *code;
  }
  return std::nullopt;
}

/// The rows of a frame in the order of the file: all, or every eighth, eighth, fourth and second.
std::vector<int> gif_row_order(int height, bool interlaced) {
  struct Pass {
    int first, step;
  };
  constexpr std::array<Pass, 4> kPasses = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  std::vector<int> rows;
  if (!interlaced) {
    for (int y = 0; y < height; ++y) rows.push_back(y);
    return rows;
  }
  for (const Pass& pass : kPasses) {
    for (int y = pass.first; y < height; y += pass.step) rows.push_back(y);
  }
  return rows;
}

}  // namespace

MaybeBad decode_gif(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output) {
  const FileBytes file(bytes);
  GifFrame frame;
  if (auto bad = find_gif_frame(file, frame)) return bad;
  if (auto bad = check_image_size(frame.canvas.width, frame.canvas.height, options)) return bad;
  if (auto bad = check_image_size(frame.box.width, frame.box.height, options)) return bad;
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(frame.box.width) * frame.box.height);
  if (auto bad = decode_gif_codes(file, frame.data, indices)) return bad;
  output.reshape(frame.canvas);
  for (std::size_t i = 0; i < output.pixels.size(); i += 3) {
    std::ranges::copy(frame.palette[frame.background], output.pixels.data() + i);
  }
  auto index = indices.begin();
  for (const int row : gif_row_order(frame.box.height, frame.interlaced)) {
    std::uint8_t* to = output.at(frame.box.left, frame.box.top + row);
    for (int x = 0; x < frame.box.width; ++x, to += 3)
      std::ranges::copy(frame.palette[*index++], to);
  }
  return std::nullopt;
}

}  // namespace protogcd
