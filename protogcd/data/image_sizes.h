// How large the images of a dataset are, told by their headers.
#pragma once

#include <cstddef>
#include <optional>

#include "protogcd/data/source_table.h"
#include "protogcd/image/image.h"

namespace protogcd {

struct SizedSource {
  std::size_t source = 0;
  ImageSize size;
};

/// The first image whose short side has more pixels than this; nothing if there is none. Files that
/// do not say their size are passed over. Stops at the first: of photos, one file is read.
std::optional<SizedSource> first_larger_image(const SourceTable& sources, int short_side);

}  // namespace protogcd
