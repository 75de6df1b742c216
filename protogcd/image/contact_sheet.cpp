#include "protogcd/image/contact_sheet.h"

#include <algorithm>
#include <cstring>

#include "protogcd/core/error.h"

namespace protogcd {

Image contact_sheet(std::span<const Image> images, int columns) {
  constexpr int kGap = 2;
  if (images.empty() || columns <= 0) throw DataError("a contact sheet of no images");
  ImageSize tile;
  for (const Image& image : images) {
    tile.width = std::max(tile.width, image.width);
    tile.height = std::max(tile.height, image.height);
  }
  const int count = static_cast<int>(images.size());
  columns = std::min(columns, count);
  const int rows = (count + columns - 1) / columns;
  Image sheet(columns * (tile.width + kGap) - kGap, rows * (tile.height + kGap) - kGap);
  std::fill(sheet.pixels.begin(), sheet.pixels.end(), std::uint8_t{255});
  for (int i = 0; i < count; ++i) {
    const Image& image = images[static_cast<std::size_t>(i)];
    const int left = i % columns * (tile.width + kGap) + (tile.width - image.width) / 2;
    const int top = i / columns * (tile.height + kGap) + (tile.height - image.height) / 2;
    for (int y = 0; y < image.height; ++y) {
      std::memcpy(sheet.at(left, top + y), image.at(0, y), std::size_t{3} * image.width);
    }
  }
  return sheet;
}

}  // namespace protogcd
