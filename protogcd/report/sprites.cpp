#include "protogcd/report/sprites.h"

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/stored_images.h"
#include "protogcd/image/encode.h"
#include "protogcd/image/resize.h"
#include "protogcd/image/transform.h"

namespace protogcd {
namespace {

int tile_for(std::size_t images) {
  return images <= 2500 ? 64 : images <= 6000 ? 48 : 36;
}

/// A square of `side` pixels, or nothing.
bool read_tile(StoredImages& images, const std::filesystem::path& file, int side, Image& tile) {
  const auto read = images.read(file, {.apply_orientation = true, .fast_short_side = side});
  const auto* image = std::get_if<Image>(&read);
  if (image == nullptr) return false;
  const auto resized = resize_short_side(*image, side);
  const auto* small = std::get_if<Image>(&resized);
  if (small == nullptr) return false;
  tile = crop_image(*small, center_crop_box(small->size(), side));
  return true;
}

void paste(const Image& tile, int left, int top, Image& sheet) {
  for (int y = 0; y < tile.height; ++y)
    std::copy_n(tile.at(0, y), std::size_t{3} * tile.width, sheet.at(left, top + y));
}

}  // namespace

Sprites make_sprites(const std::vector<std::filesystem::path>& files, const Context& context) {
  const std::size_t shown = std::min(files.size(), kMostThumbnails);
  Sprites sprites{.tile = tile_for(shown), .sheets = {}, .places = {}};
  sprites.places.assign(files.size(), -1);
  Progress progress("thumbnails", shown, "images", context.progress());
  StoredImages images;
  ThreadPool pool(context.threads);
  for (std::size_t first = 0; first < shown; first += sprites.per_sheet) {
    if (context.interrupted()) throw InterruptedError("stopped while thumbnails were made");
    const std::size_t count = std::min(sprites.per_sheet, shown - first);
    const auto columns = static_cast<std::size_t>(sprites.columns);
    Image sheet(sprites.columns * sprites.tile,
                static_cast<int>((count + columns - 1) / columns) * sprites.tile);
    std::ranges::fill(sheet.pixels, std::uint8_t{255});
    pool.for_each(count, [&](std::size_t i) {
      Image tile;
      if (!read_tile(images, files[first + i], sprites.tile, tile)) return;
      paste(tile, static_cast<int>(i % columns) * sprites.tile,
            static_cast<int>(i / columns) * sprites.tile, sheet);
      sprites.places[first + i] = static_cast<std::int32_t>(first + i);
    });
    sprites.sheets.push_back(encode_jpeg(sheet, {.quality = 72}));
    progress.add(count);
  }
  return sprites;
}

}  // namespace protogcd
