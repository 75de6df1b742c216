#include "protogcd/image/corrupt/float_image.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace protogcd::corruption {
namespace {

int mirrored(int index, int size) {
  if (index >= 0 && index < size) return index;
  const int period = 2 * size;
  const int within = (index % period + period) % period;
  return within < size ? within : period - 1 - within;
}

struct Reach {
  int left = 0, right = 0, above = 0, below = 0;
};

Reach reach_of(std::span<const Tap> taps) {
  Reach reach;
  for (const Tap& tap : taps) {
    reach.left = std::max(reach.left, -tap.dx);
    reach.right = std::max(reach.right, tap.dx);
    reach.above = std::max(reach.above, -tap.dy);
    reach.below = std::max(reach.below, tap.dy);
  }
  return reach;
}

/// The image with its mirrored surroundings, so that a filter need not look for the border.
FloatImage padded(const FloatImage& image, const Reach& reach) {
  FloatImage result(
      {image.width + reach.left + reach.right, image.height + reach.above + reach.below},
      image.channels);
  for (int y = 0; y < result.height; ++y) {
    const int source_y = mirrored(y - reach.above, image.height);
    for (int x = 0; x < result.width; ++x) {
      const float* source = image.at(mirrored(x - reach.left, image.width), source_y);
      std::copy_n(source, image.channels, result.at(x, y));
    }
  }
  return result;
}

void normalise(std::vector<Tap>& taps) {
  double sum = 0;
  for (const Tap& tap : taps) sum += tap.weight;
  for (Tap& tap : taps) tap.weight = static_cast<float>(tap.weight / sum);
}

float gaussian(double distance, double deviation) {
  return static_cast<float>(std::exp(-distance * distance / (2 * deviation * deviation)));
}

}  // namespace

FloatImage to_float(const Image& image) {
  FloatImage result(image.size(), 3);
  std::ranges::transform(image.pixels, result.values.begin(),
                         [](std::uint8_t value) { return static_cast<float>(value) / 255; });
  return result;
}

Image to_bytes(const FloatImage& image) {
  Image result(image.width, image.height);
  std::ranges::transform(image.values, result.pixels.begin(), [](float value) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0f, 1.0f) * 255));
  });
  return result;
}

void sample(const FloatImage& image, double x, double y, float* output) {
  const double left = std::floor(x), top = std::floor(y);
  const auto right_share = static_cast<float>(x - left), lower_share = static_cast<float>(y - top);
  const int x0 = mirrored(static_cast<int>(left), image.width);
  const int x1 = mirrored(static_cast<int>(left) + 1, image.width);
  const int y0 = mirrored(static_cast<int>(top), image.height);
  const int y1 = mirrored(static_cast<int>(top) + 1, image.height);
  for (int c = 0; c < image.channels; ++c) {
    const float upper = std::lerp(image.at(x0, y0)[c], image.at(x1, y0)[c], right_share);
    const float lower = std::lerp(image.at(x0, y1)[c], image.at(x1, y1)[c], right_share);
    output[c] = std::lerp(upper, lower, lower_share);
  }
}

FloatImage convolve(const FloatImage& image, std::span<const Tap> taps) {
  const Reach reach = reach_of(taps);
  const FloatImage source = padded(image, reach);
  FloatImage result(image.size(), image.channels);
  const int row_values = image.width * image.channels;
  for (int y = 0; y < image.height; ++y) {
    float* output = result.at(0, y);
    for (const Tap& tap : taps) {
      const float* input = source.at(reach.left + tap.dx, reach.above + y + tap.dy);
      for (int i = 0; i < row_values; ++i) output[i] += tap.weight * input[i];
    }
  }
  return result;
}

FloatImage gaussian_blur(const FloatImage& image, double deviation) {
  const int radius = static_cast<int>(std::lround(3 * deviation));
  if (radius == 0) return image;
  std::vector<Tap> across, down;
  for (int i = -radius; i <= radius; ++i) across.push_back({i, 0, gaussian(i, deviation)});
  normalise(across);
  for (const Tap& tap : across) down.push_back({0, tap.dx, tap.weight});
  return convolve(convolve(image, across), down);
}

FloatImage trail_blur(const FloatImage& image, int radius, double deviation, double angle) {
  const double radians = angle * std::numbers::pi / 180;
  std::vector<Tap> taps;
  for (int i = 0; i <= 2 * radius; ++i) {
    const double x = i * std::cos(radians), y = i * std::sin(radians);
    const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
    const auto right_share = static_cast<float>(x - left);
    const auto lower_share = static_cast<float>(y - top);
    const float weight = gaussian(i, deviation);
    taps.push_back({left, top, weight * (1 - right_share) * (1 - lower_share)});
    taps.push_back({left + 1, top, weight * right_share * (1 - lower_share)});
    taps.push_back({left, top + 1, weight * (1 - right_share) * lower_share});
    taps.push_back({left + 1, top + 1, weight * right_share * lower_share});
  }
  normalise(taps);
  return convolve(image, taps);
}

FloatImage zoomed(const FloatImage& image, double factor) {
  FloatImage result(image.size(), image.channels);
  const double middle_x = (image.width - 1) / 2.0, middle_y = (image.height - 1) / 2.0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      sample(image, middle_x + (x - middle_x) / factor, middle_y + (y - middle_y) / factor,
             result.at(x, y));
    }
  }
  return result;
}

}  // namespace protogcd::corruption
