// EXIF orientation: finding it in a file, and turning an image upright.
#pragma once

#include <cstddef>
#include <span>

#include "protogcd/image/decode.h"
#include "protogcd/image/image.h"

namespace protogcd {

/// 1 to 8 as the EXIF standard numbers them; 1 (upright) where the file says nothing or nonsense.
int exif_orientation(std::span<const std::byte> file, ImageFormat format);

/// The image as it is to be seen: 2, 4, 5, 7 mirror it, 3, 6, 8 turn it by 180, 90 and 270 degrees
/// clockwise.
Image turn_upright(Image image, int orientation);

}  // namespace protogcd
