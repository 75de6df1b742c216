// Thumbnails of many images on a few JPEG sheets: far smaller than a file each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/data/stored_images.h"

namespace protogcd {

struct Sprites {
  int tile = 64;     ///< pixels along a side
  int columns = 32;  ///< tiles a row of a sheet
  std::size_t per_sheet = 1024;
  std::vector<std::string> sheets;   ///< JPEG files, in memory
  std::vector<std::int32_t> places;  ///< of each file of the list: which tile; -1: none
};

/// The middle of every image that can be read. Tiles are smaller where there are many, so that ten
/// thousand images stay below ten megabytes; beyond kMostThumbnails the rest has none.
Sprites make_sprites(const std::vector<std::filesystem::path>& files, const Context& context);

/// As the page reads them; `places` aside, which go with the images.
nlohmann::json sprites_data(const Sprites& sprites);

/// All of them on one JPEG sheet, as many columns as rows (the last ones may stay white): row by
/// row in the order of the list. What cannot be read stays white.
std::string square_sheet(const std::vector<std::filesystem::path>& files, int tile,
                         const Context& context);

/// The whole image as a JPEG file whose short side has at most `short_side` pixels; empty where it
/// cannot be read or is far too long.
std::string picture_of(StoredImages& images, const std::filesystem::path& file, int short_side);

constexpr std::size_t kMostThumbnails = 12000;

}  // namespace protogcd
