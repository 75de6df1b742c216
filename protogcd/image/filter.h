// Sharpness and blur, in place, to exactly the bytes of Pillow.
#pragma once

#include "protogcd/image/image.h"

namespace protogcd {

/// ImageEnhance.Sharpness: 1 leaves the image as it is, 0 smooths it, more sharpens.
void change_sharpness(Image& image, double factor);

/// ImageFilter.GaussianBlur: three passes of a box with soft ends in each direction, which come
/// near a Gaussian of this standard deviation, in pixels. What lies beyond the border is as the
/// border.
void blur_image(Image& image, double radius);

}  // namespace protogcd
