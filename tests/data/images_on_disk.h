// A folder of small PNG files of different sizes, some of them broken.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "protogcd/core/files.h"
#include "protogcd/data/source_table.h"
#include "protogcd/image/encode.h"
#include "tests/image/image_helpers.h"
#include "tests/support/temporary_folder.h"

namespace protogcd::testing {

/// Those in `bad` are text.
struct ImagesOnDisk {
  explicit ImagesOnDisk(std::size_t count, const std::vector<std::size_t>& bad = {}) {
    const std::uint32_t place = sources.add_folder(folder.path().string());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = std::to_string(i) + ".png";
      if (std::ranges::find(bad, i) != bad.end()) {
        write_file_atomically(folder / name, "not an image");
      } else {
        images.push_back(
            random_image(20 + static_cast<int>(i % 7), 30 - static_cast<int>(i % 5), i));
        write_png(folder / name, images.back());
      }
      list.push_back(sources.add_file(place, name));
    }
  }

  TemporaryFolder folder;
  SourceTable sources;
  std::vector<std::uint32_t> list;
  std::vector<Image> images;  ///< the good ones
};

}  // namespace protogcd::testing
