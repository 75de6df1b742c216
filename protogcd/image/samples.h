// From what files store to RGB, shared by the decoders of several formats. Internal to this area.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace protogcd {

/// Colours that a file does not give stay black, as in Pillow.
using RgbPalette = std::array<std::array<std::uint8_t, 3>, 256>;

/// What stands in for a palette that is not there.
inline RgbPalette grey_palette() {
  RgbPalette palette;
  for (std::size_t i = 0; i < palette.size(); ++i) palette[i].fill(static_cast<std::uint8_t>(i));
  return palette;
}

/// A 16-bit sample as libpng scales it: rounded, 65535 to 255.
inline std::uint8_t scale_16_bits(std::uint16_t value) {
  return static_cast<std::uint8_t>((std::uint32_t{value} * 255 + 32895) >> 16);
}

/// Pillow's CMYK to RGB; `light` is 255 - ink of the four.
inline void light_to_rgb(const std::uint8_t* light, std::uint8_t* rgb) {
  const int white = light[3];  // 255 - black
  for (int channel = 0; channel < 3; ++channel) {
    const int product = (255 - light[channel]) * white + 128;
    rgb[channel] =
        static_cast<std::uint8_t>(std::clamp(white - (((product >> 8) + product) >> 8), 0, 255));
  }
}

}  // namespace protogcd
