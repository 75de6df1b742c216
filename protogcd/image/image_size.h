// The size of an image from its header alone, for decisions before anything is decoded.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "protogcd/image/image.h"

namespace protogcd {

/// Of every format that detect_image_format knows, as stored (it may be turned by a quarter).
/// Nothing where the header is damaged, cut off or of another format. What a decoder would say
/// later may differ: this is no check.
std::optional<ImageSize> image_size(std::span<const std::byte> bytes);

}  // namespace protogcd
