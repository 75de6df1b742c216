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

/// Whether some of them are stored as cameras and photo datasets store them: JPEG, or records of a
/// container. Pixels are not asked: small drawings and small photographs do not differ enough.
bool look_like_photographs(const SourceTable& sources);

}  // namespace protogcd
