// Weather: snow, frost on the lens, fog, and the light of another hour.
#include <algorithm>
#include <cmath>

#include "protogcd/image/corrupt/float_image.h"
#include "protogcd/image/corrupt/ice.h"
#include "protogcd/image/corrupt/methods.h"
#include "protogcd/image/corrupt/plasma.h"

namespace protogcd::corruption {
namespace {

struct SnowConstants {
  double mean, deviation;  ///< of the noise that flakes are made of
  double zoom;             ///< size of a flake
  double threshold;        ///< noise below it is no flake
  int trail_radius;
  double trail_deviation;
  float scene_share;  ///< the rest is a whitened copy of the scene
};

FloatImage draw_flakes(ImageSize size, const SnowConstants& constants, RandomStream& random) {
  FloatImage noise(size, 1);
  for (float& value : noise.values) {
    value = static_cast<float>(constants.mean + constants.deviation * random.normal());
  }
  FloatImage flakes = zoomed(noise, constants.zoom);
  for (float& value : flakes.values) {
    value = value < static_cast<float>(constants.threshold) ? 0.0f : std::min(value, 1.0f);
  }
  const double angle = random.uniform(45, 135);
  return trail_blur(flakes, constants.trail_radius, constants.trail_deviation, angle);
}

float luminance(const float* rgb) {
  return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];  // ITU-R BT.601
}

}  // namespace

Image snow(const Image& image, int severity, RandomStream& random) {
  static constexpr SeverityTable<SnowConstants> kSnows = {{{{.1, .2, 1, .6, 8, 3, .95f},
                                                            {.1, .2, 1, .5, 10, 4, .9f},
                                                            {.15, .3, 1.75, .55, 10, 4, .9f},
                                                            {.25, .3, 2.25, .6, 12, 6, .85f},
                                                            {.3, .3, 1.25, .65, 14, 12, .8f}}},
                                                          {{{.1, .3, 3, .5, 10, 4, .8f},
                                                            {.2, .3, 2, .5, 12, 4, .7f},
                                                            {.55, .3, 4, .9, 12, 8, .7f},
                                                            {.55, .3, 4.5, .85, 12, 8, .65f},
                                                            {.55, .3, 2.5, .85, 12, 12, .55f}}}};
  const SnowConstants& constants = kSnows.at(image.size(), severity);
  const FloatImage flakes = draw_flakes(image.size(), constants, random);
  FloatImage result = to_float(image);
  const std::size_t pixels = flakes.values.size();
  for (std::size_t i = 0; i < pixels; ++i) {
    float* rgb = &result.values[3 * i];
    const float whitened = 1.5f * luminance(rgb) + 0.5f;
    // Flakes fall in two directions: the same ones, turned by half a circle.
    const float snow = flakes.values[i] + flakes.values[pixels - 1 - i];
    for (int c = 0; c < 3; ++c) {
      rgb[c] = std::lerp(std::max(rgb[c], whitened), rgb[c], constants.scene_share) + snow;
    }
  }
  return to_bytes(result);
}

Image frost(const Image& image, int severity, RandomStream& random) {
  struct Shares {
    float scene, ice;
  };
  static constexpr SeverityTable<Shares> kShares = {
      {{{1, .2f}, {1, .3f}, {.9f, .4f}, {.85f, .4f}, {.75f, .45f}}},
      {{{1, .4f}, {.8f, .6f}, {.7f, .7f}, {.65f, .7f}, {.6f, .75f}}}};
  const auto [scene_share, ice_share] = kShares.at(image.size(), severity);
  const FloatImage ice = draw_ice(image.size(), random);
  FloatImage result = to_float(image);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = scene_share * result.values[i] + ice_share * ice.values[i];
  }
  return to_bytes(result);
}

Image fog(const Image& image, int severity, RandomStream& random) {
  struct Fog {
    float thickness;
    double decay;
  };
  static constexpr SeverityTable<Fog> kFogs = {
      {{{.2f, 3}, {.5f, 3}, {.75f, 2.5}, {1, 2}, {1.5f, 1.75}}},
      {{{1.5f, 2}, {2, 2}, {2.5f, 1.7}, {2.5f, 1.5}, {3, 1.4}}}};
  const auto [thickness, decay] = kFogs.at(image.size(), severity);
  const FloatImage clouds = plasma(image.size(), decay, random);
  FloatImage result = to_float(image);
  const float lightest = std::ranges::max(result.values);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const float foggy = result.values[i] + thickness * clouds.values[i / 3];
    result.values[i] = foggy * lightest / (lightest + thickness);
  }
  return to_bytes(result);
}

Image brightness(const Image& image, int severity, RandomStream& /*random*/) {
  static constexpr SeverityTable<float> kAdded = {{.05f, .1f, .15f, .2f, .3f},
                                                  {.1f, .2f, .3f, .4f, .5f}};
  const float added = kAdded.at(image.size(), severity);
  FloatImage result = to_float(image);
  for (std::size_t i = 0; i < result.values.size(); i += 3) {
    // The V of HSV is the largest channel; with hue and saturation kept, all scale with it.
    float* rgb = &result.values[i];
    const float value = std::max({rgb[0], rgb[1], rgb[2]});
    const float brighter = std::min(1.0f, value + added);
    for (int c = 0; c < 3; ++c) rgb[c] = value > 0 ? rgb[c] * brighter / value : brighter;
  }
  return to_bytes(result);
}

}  // namespace protogcd::corruption
