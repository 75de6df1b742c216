// Many small images on one: what a class looks like at a glance.
#pragma once

#include <span>

#include "protogcd/image/image.h"

namespace protogcd {

/// Rows of `columns` tiles on white, 2 pixels apart, each tile as large as the largest image;
/// smaller ones stand in the middle of theirs. Throws DataError where there is nothing to show.
Image contact_sheet(std::span<const Image> images, int columns);

}  // namespace protogcd
