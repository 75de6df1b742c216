// Images as numbers from 0 to 1, and the filters that several corruptions share. Beyond its border
// an image goes on as its mirror image (... b a | a b ...), however far.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "protogcd/image/image.h"

namespace protogcd::corruption {

/// Interleaved, rows from top to bottom: [height, width, channels].
struct FloatImage {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<float> values;

  FloatImage(ImageSize size, int channel_count)
      : width(size.width),
        height(size.height),
        channels(channel_count),
        values(static_cast<std::size_t>(size.pixels() * channel_count)) {}

  ImageSize size() const { return {width, height}; }
  float* at(int x, int y) { return values.data() + offset(x, y); }
  const float* at(int x, int y) const { return values.data() + offset(x, y); }

 private:
  std::size_t offset(int x, int y) const {
    return (static_cast<std::size_t>(y) * width + x) * channels;
  }
};

FloatImage to_float(const Image& image);
/// Values beyond 0 and 1 are cut off; `image` has three channels.
Image to_bytes(const FloatImage& image);

/// The channels at a place between pixels, whose centres have whole coordinates (bilinear).
void sample(const FloatImage& image, double x, double y, float* output);

/// One summand of a filter: output(x, y) takes weight * input(x + dx, y + dy).
struct Tap {
  int dx = 0;
  int dy = 0;
  float weight = 0;
};

FloatImage convolve(const FloatImage& image, std::span<const Tap> taps);
/// Cut off at three deviations.
FloatImage gaussian_blur(const FloatImage& image, double deviation);
/// Every pixel leaves a trail of 2 * radius + 1 pixels that fades as one half of a Gaussian.
/// The angle is counted from the x axis, downwards, in degrees.
FloatImage trail_blur(const FloatImage& image, int radius, double deviation, double angle);
/// The middle, enlarged to the whole size; `factor` is at least 1.
FloatImage zoomed(const FloatImage& image, double factor);

}  // namespace protogcd::corruption
