// A shape as a picture: random pose, colours, texture and stroke on a cluttered background. Nothing
// but the silhouette tells the class, so that colour cannot.
#pragma once

#include "protogcd/core/random.h"
#include "protogcd/data/drawn/shape.h"
#include "protogcd/image/image.h"

namespace protogcd::drawn {

/// How differently the same shape is shown.
struct PoseOptions {
  double most_turned_degrees = 25;
  double least_scale = 0.3;  ///< of the picture's side, for half of the shape; the largest is 0.44
};

/// Draws the shape (upright, within [-1, 1]) on a square of size x size pixels.
Image draw_scene(const Shape& shape, int size, const PoseOptions& pose, RandomStream& random);

}  // namespace protogcd::drawn
