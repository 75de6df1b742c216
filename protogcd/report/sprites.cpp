#include "protogcd/report/sprites.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/stored_images.h"
#include "protogcd/image/encode.h"
#include "protogcd/image/resize.h"
#include "protogcd/image/transform.h"
#include "protogcd/report/base64.h"

namespace protogcd {
namespace {

int tile_for(std::size_t images) {
  return images <= 2500 ? 64 : images <= 6000 ? 48 : 36;
}

/// Resized to that short side, or nothing.
std::optional<Image> read_small(StoredImages& images, const std::filesystem::path& file,
                                int short_side, bool enlarge) {
  const auto read = images.read(file, {.apply_orientation = true, .fast_short_side = short_side});
  const auto* image = std::get_if<Image>(&read);
  if (image == nullptr) return std::nullopt;
  if (!enlarge && std::min(image->width, image->height) <= short_side) return *image;
  auto resized = resize_short_side(*image, short_side);
  auto* small = std::get_if<Image>(&resized);
  return small == nullptr ? std::nullopt : std::optional(std::move(*small));
}

/// A square of `side` pixels, or nothing.
bool read_tile(StoredImages& images, const std::filesystem::path& file, int side, Image& tile) {
  const auto small = read_small(images, file, side, /*enlarge=*/true);
  if (small) tile = crop_image(*small, center_crop_box(small->size(), side));
  return small.has_value();
}

void paste(const Image& tile, int left, int top, Image& sheet) {
  for (int y = 0; y < tile.height; ++y)
    std::copy_n(tile.at(0, y), std::size_t{3} * tile.width, sheet.at(left, top + y));
}

/// Tiles row by row on white; `made` is told of each that could be read, from several threads.
/// InterruptedError when asked to stop.
Image make_sheet(std::span<const std::filesystem::path> files, int tile, int columns,
                 StoredImages& images, ThreadPool& pool, const Context& context,
                 const std::function<void(std::size_t)>& made) {
  const auto per_row = static_cast<std::size_t>(columns);
  const std::size_t rows = (files.size() + per_row - 1) / per_row;
  Image sheet(columns * tile, static_cast<int>(rows) * tile);
  std::ranges::fill(sheet.pixels, std::uint8_t{255});
  pool.for_each(files.size(), [&](std::size_t i) {
    Image picture;
    if (context.interrupted()) return;
    if (!read_tile(images, files[i], tile, picture)) return;
    paste(picture, static_cast<int>(i % per_row) * tile, static_cast<int>(i / per_row) * tile,
          sheet);
    made(i);
  });
  if (context.interrupted()) throw InterruptedError("stopped while thumbnails were made");
  return sheet;
}

/// `read`: of each file whether it has a tile.
void tell_missing(std::span<const std::filesystem::path> files, const std::vector<char>& read,
                  const Context& context) {
  const auto first = std::ranges::find(read, 0);
  if (first == read.end()) return;
  context.log.warning(
      fmt::format("{} of {} images cannot be read and have no thumbnail, the first: {}",
                  std::ranges::count(read, 0), read.size(), files[first - read.begin()].string()));
}

}  // namespace

Sprites make_sprites(const std::vector<std::filesystem::path>& files, const Context& context) {
  const std::size_t shown = std::min(files.size(), kMostThumbnails);
  Sprites sprites{.tile = tile_for(shown), .sheets = {}, .places = {}};
  sprites.places.assign(files.size(), -1);
  Progress progress("thumbnails", shown, "images", context.progress());
  StoredImages images;
  ThreadPool pool(context.threads);
  std::vector<char> read(shown);
  for (std::size_t first = 0; first < shown; first += sprites.per_sheet) {
    const std::size_t count = std::min(sprites.per_sheet, shown - first);
    const Image sheet = make_sheet(std::span(files).subspan(first, count), sprites.tile,
                                   sprites.columns, images, pool, context, [&](std::size_t i) {
                                     sprites.places[first + i] =
                                         static_cast<std::int32_t>(first + i);
                                     read[first + i] = 1;
                                   });
    sprites.sheets.push_back(encode_jpeg(sheet, {.quality = 72}));
    progress.add(count);
  }
  tell_missing(files, read, context);
  return sprites;
}

std::string picture_of(StoredImages& images, const std::filesystem::path& file, int short_side) {
  const auto small = read_small(images, file, short_side, /*enlarge=*/false);
  constexpr int kLongest = 4096;  // a strip beyond that shows nothing to a person
  if (!small || std::max(small->width, small->height) > kLongest) return {};
  return encode_jpeg(*small, {.quality = 80});
}

nlohmann::json sprites_data(const Sprites& sprites) {
  nlohmann::json sheets = nlohmann::json::array();
  for (const std::string& sheet : sprites.sheets) sheets.push_back(base64(sheet));
  return {{"tile", sprites.tile},
          {"columns", sprites.columns},
          {"per_sheet", sprites.per_sheet},
          {"sheets", sheets}};
}

std::string square_sheet(const std::vector<std::filesystem::path>& files, int tile,
                         const Context& context) {
  StoredImages images;
  ThreadPool pool(context.threads);
  const int columns =
      std::max(1, static_cast<int>(std::ceil(std::sqrt(static_cast<double>(files.size())))));
  std::vector<char> read(files.size());
  const Image sheet =
      make_sheet(files, tile, columns, images, pool, context, [&](std::size_t i) { read[i] = 1; });
  tell_missing(files, read, context);
  return encode_jpeg(sheet, {.quality = 72});
}

}  // namespace protogcd
