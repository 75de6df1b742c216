// Shears, shifts and rotations by the nearest pixel, as Pillow's Image.transform and torchvision's
// RandAugment make them. What comes from outside of the image is black.
#pragma once

#include <array>

#include "protogcd/image/image.h"

namespace protogcd {

/// Where pixel (x, y) of the result comes from: (m0 x + m1 y + m2, m3 x + m4 y + m5), of pixels'
/// centres.
using AffineMatrix = std::array<double, 6>;

/// Pillow's transform with NEAREST: in 16 bits after the point, or in float64 where x and y stay
/// apart. Equal for images below 32,768 pixels wide and high.
Image transformed(const Image& image, const AffineMatrix& matrix);

/// About the middle, counter-clockwise, by less than 90 degrees.
Image rotated(const Image& image, double degrees);
/// About the upper left corner: a row is moved left by so much of its distance from the top, a
/// column up by so much of its distance from the left.
Image sheared_x(const Image& image, double slope);
Image sheared_y(const Image& image, double slope);
/// To the right and down.
Image shifted(const Image& image, int right, int down);

}  // namespace protogcd
