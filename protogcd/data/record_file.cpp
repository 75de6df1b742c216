#include "protogcd/data/record_file.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr std::size_t kChannels = 3;
constexpr int kLargestSide = 4096;

}  // namespace

void RecordFile::check() const {
  const auto fail = [this] {
    throw DataError(fmt::format("{}: {} records of {}x{} pixels do not fit into {} bytes",
                                path.string(), count, width, height, bytes.size()));
  };
  if (width < 1 || height < 1 || width > kLargestSide || height > kLargestSide) fail();
  if (labels.size() != count) {
    throw DataError(
        fmt::format("{}: {} images but {} labels", path.string(), count, labels.size()));
  }
  if (count == 0) return;
  // 128 bits: strides come from files and products of them may not fit into 64.
  __extension__ using Wide = unsigned __int128;
  Wide last = first;
  last += static_cast<Wide>(count - 1) * record_stride;
  last += static_cast<Wide>(kChannels - 1) * channel_stride;
  last += static_cast<Wide>(height - 1) * row_stride;
  last += static_cast<Wide>(width - 1) * column_stride;
  if (last >= bytes.size()) fail();
}

Image RecordFile::load(std::size_t record) const {
  if (record >= count) {
    throw InternalError(fmt::format("{}: no record {}", path.string(), record));
  }
  Image image(width, height);
  const std::byte* start = bytes.data() + first + record * record_stride;
  std::uint8_t* pixel = image.pixels.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::byte* source = start + y * row_stride + x * column_stride;
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        *pixel++ = std::to_integer<std::uint8_t>(source[channel * channel_stride]);
      }
    }
  }
  return image;
}

}  // namespace protogcd
