#include "protogcd/studies/retrieval.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "protogcd/core/error.h"
#include "protogcd/data/stored_images.h"
#include "protogcd/image/contact_sheet.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/resize.h"
#include "protogcd/image/transform.h"
#include "protogcd/run/predictions_table.h"

namespace protogcd {
namespace {

constexpr int kTile = 96;

Image grey_tile() {
  Image tile(kTile, kTile);
  std::ranges::fill(tile.pixels, std::uint8_t{200});
  return tile;
}

/// A square of kTile pixels, or the image itself where it is smaller.
ImageOrBad thumbnail(StoredImages& images, const std::filesystem::path& path) {
  ImageOrBad read = images.read(path, {.apply_orientation = true, .fast_short_side = kTile});
  if (std::holds_alternative<BadImage>(read)) return read;
  const Image& image = std::get<Image>(read);
  if (std::max(image.width, image.height) <= kTile) return read;
  ImageOrBad resized = resize_short_side(image, kTile);
  if (std::holds_alternative<BadImage>(resized)) return resized;
  const Image& small = std::get<Image>(resized);
  return crop_image(small, center_crop_box(small.size(), kTile));
}

}  // namespace

std::vector<ClassExamples> find_examples(const std::filesystem::path& predictions,
                                         std::size_t top) {
  const PredictionsTable table = PredictionsTable::read(predictions);
  struct Group {
    bool is_new = false;
    std::vector<TypicalImage> images;
  };
  std::map<std::string, Group> groups;
  for (std::size_t i = 0; i < table.size(); ++i) {
    Group& group = groups[table.class_name(i)];
    group.is_new = table.is_new(i);
    group.images.push_back({table.path(i), table.typicality(i)});
  }
  if (groups.empty()) throw DataError(fmt::format("{}: no predictions in it", table.name()));
  std::vector<ClassExamples> classes;
  for (auto& [label, group] : groups) {
    auto& images = group.images;
    std::ranges::stable_sort(images, std::greater(), &TypicalImage::typicality);
    const std::size_t most = std::min(top, images.size());
    const std::size_t least = std::min(top, images.size() - most);
    ClassExamples examples{.name = label,
                           .is_new = group.is_new,
                           .images = images.size(),
                           .most = {images.begin(), images.begin() + std::ptrdiff_t(most)},
                           .least = {images.rbegin(), images.rbegin() + std::ptrdiff_t(least)}};
    classes.push_back(std::move(examples));
  }
  std::ranges::stable_sort(classes, {}, &ClassExamples::is_new);
  return classes;
}

Image example_sheet(const std::vector<ClassExamples>& classes, std::size_t top,
                    const std::filesystem::path& folder, const Logger& log) {
  StoredImages images;
  std::vector<Image> tiles;
  const auto columns = 2 * top + 1;
  for (const ClassExamples& one : classes) {
    std::vector<Image> row(columns);
    const auto put = [&](std::size_t column, const TypicalImage& example) {
      const auto file = (folder / example.path).lexically_normal();
      ImageOrBad tile = thumbnail(images, file);
      if (const auto* bad = std::get_if<BadImage>(&tile)) {
        log.warning(fmt::format("{}: {}", file.string(), bad->reason));
        row[column] = grey_tile();
      } else {
        row[column] = std::move(std::get<Image>(tile));
      }
    };
    for (std::size_t i = 0; i < one.most.size(); ++i) put(i, one.most[i]);
    for (std::size_t i = 0; i < one.least.size(); ++i) put(columns - 1 - i, one.least[i]);
    std::ranges::move(row, std::back_inserter(tiles));
  }
  return contact_sheet(tiles, static_cast<int>(columns));
}

}  // namespace protogcd
