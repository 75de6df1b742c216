// A shape as a picture: random pose, colours, texture and stroke on a cluttered background. Nothing
// but the silhouette tells the class, so that colour cannot.
#pragma once

#include "protogcd/core/random.h"
#include "protogcd/data/drawn/shape.h"
#include "protogcd/image/image.h"

namespace protogcd::drawn {

/// Draws the shape (upright, within [-1, 1]), turned by up to so many degrees, on a square of size
/// x size pixels.
Image draw_scene(const Shape& shape, int size, double most_turned, RandomStream& random);

}  // namespace protogcd::drawn
