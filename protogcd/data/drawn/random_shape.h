// Shapes that nobody has a name for: blobs, polygons and objects put together from primitives.
#pragma once

#include "protogcd/core/random.h"
#include "protogcd/data/drawn/shape.h"

namespace protogcd::drawn {

/// One random shape, upright, within [-1, 1]; many are symmetric about the vertical axis, as things
/// often are.
Shape draw_random_shape(RandomStream& random);

}  // namespace protogcd::drawn
