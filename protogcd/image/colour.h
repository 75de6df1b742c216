// Changes of colour, in place, to exactly the bytes of Pillow: ImageEnhance's brightness, contrast
// and colour, ImageOps, and the turn of the hue that torchvision makes of Pillow's HSV.
#pragma once

#include "protogcd/image/image.h"

namespace protogcd {

/// first + factor (second - first), cut to 8 bits, as Image.blend: in float32, rounded down.
/// `first` is what the picture would be at factor 0.
std::uint8_t blended(int first, int second, float factor);

/// Factor 1 leaves the image as it is, 0 makes it black, of one grey or grey.
void change_brightness(Image& image, double factor);
void change_contrast(Image& image, double factor);
void change_saturation(Image& image, double factor);
/// By `turn` of the colour circle, from -0.5 to 0.5.
void change_hue(Image& image, double turn);

/// The luma of every pixel in all channels.
void make_grey(Image& image);
void invert(Image& image);
/// Values from `threshold` on are inverted.
void solarise(Image& image, double threshold);
/// Keeps so many high bits, 0 to 8.
void posterise(Image& image, int bits);
/// Every channel's least value becomes 0, its largest 255.
void stretch_contrast(Image& image);
/// Every channel's values spread evenly.
void equalise(Image& image);

}  // namespace protogcd
