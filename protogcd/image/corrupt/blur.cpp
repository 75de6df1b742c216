// Blur: out of focus, through frosted glass, of a moving camera, of one that moves forwards.
#include <algorithm>
#include <cmath>
#include <functional>

#include "protogcd/image/corrupt/float_image.h"
#include "protogcd/image/corrupt/methods.h"

namespace protogcd::corruption {
namespace {

/// Every pixel takes the colour of one at most `reach` away.
FloatImage shuffled_locally(const FloatImage& image, int reach, RandomStream& random) {
  FloatImage result(image.size(), image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      // From -reach to reach - 1, as in the published sets.
      const int dx = static_cast<int>(random.between(-reach, reach - 1));
      const int dy = static_cast<int>(random.between(-reach, reach - 1));
      const float* other =
          image.at(std::clamp(x + dx, 0, image.width - 1), std::clamp(y + dy, 0, image.height - 1));
      std::copy_n(other, image.channels, result.at(x, y));
    }
  }
  return result;
}

/// A disk whose edge is softened by a small Gaussian. Weights sum to 1.
std::vector<Tap> lens_taps(double radius, double softening) {
  constexpr int kSofteningReach = 2;
  const int reach = static_cast<int>(std::ceil(radius)) + kSofteningReach;
  FloatImage disk({2 * reach + 1, 2 * reach + 1}, 1);
  int inside = 0;
  for (int y = -reach; y <= reach; ++y) {
    for (int x = -reach; x <= reach; ++x) {
      const bool is_inside = x * x + y * y <= radius * radius;
      *disk.at(x + reach, y + reach) = is_inside ? 1.0f : 0.0f;
      inside += is_inside ? 1 : 0;
    }
  }
  const FloatImage soft = gaussian_blur(disk, softening);
  std::vector<Tap> taps;
  for (int y = -reach; y <= reach; ++y) {
    for (int x = -reach; x <= reach; ++x) {
      const float weight = *soft.at(x + reach, y + reach) / static_cast<float>(inside);
      if (weight > 0) taps.push_back({x, y, weight});
    }
  }
  return taps;
}

}  // namespace

Image defocus_blur(const Image& image, int severity, RandomStream& /*random*/) {
  struct Lens {
    double radius, softening;
  };
  static constexpr SeverityTable<Lens> kLenses = {
      {{{.3, .4}, {.4, .5}, {.5, .6}, {1, .2}, {1.5, .1}}},
      {{{3, .1}, {4, .5}, {6, .5}, {8, .5}, {10, .5}}}};
  const auto [radius, softening] = kLenses.at(image.size(), severity);
  return to_bytes(convolve(to_float(image), lens_taps(radius, softening)));
}

Image glass_blur(const Image& image, int severity, RandomStream& random) {
  struct Glass {
    double deviation;
    int reach, passes;
  };
  static constexpr SeverityTable<Glass> kGlasses = {
      {{{.05, 1, 1}, {.25, 1, 1}, {.4, 1, 1}, {.25, 1, 2}, {.4, 1, 2}}},
      {{{.7, 1, 2}, {.9, 2, 1}, {1, 2, 3}, {1.1, 3, 2}, {1.5, 4, 2}}}};
  const auto [deviation, reach, passes] = kGlasses.at(image.size(), severity);
  FloatImage result = gaussian_blur(to_float(image), deviation);
  for (int pass = 0; pass < passes; ++pass) result = shuffled_locally(result, reach, random);
  return to_bytes(gaussian_blur(result, deviation));
}

Image motion_blur(const Image& image, int severity, RandomStream& random) {
  struct Trail {
    int radius;
    double deviation;
  };
  static constexpr SeverityTable<Trail> kTrails = {
      {{{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}}},
      {{{10, 3}, {15, 5}, {15, 8}, {15, 12}, {20, 15}}}};
  const auto [radius, deviation] = kTrails.at(image.size(), severity);
  const double angle = random.uniform(-45, 45);
  return to_bytes(trail_blur(to_float(image), radius, deviation, angle));
}

Image zoom_blur(const Image& image, int severity, RandomStream& /*random*/) {
  struct Zoom {
    int steps;
    double step;
  };
  static constexpr SeverityTable<Zoom> kZooms = {
      {{{5, .01}, {10, .01}, {15, .01}, {20, .01}, {25, .01}}},
      {{{10, .01}, {15, .01}, {10, .02}, {12, .02}, {10, .03}}}};
  const auto [steps, step] = kZooms.at(image.size(), severity);
  const FloatImage source = to_float(image);
  // The image itself counts twice: once as it is, once as zoom 1.
  FloatImage sum = source;
  for (int i = 0; i <= steps; ++i) {
    const FloatImage nearer = zoomed(source, 1 + i * step);
    std::ranges::transform(sum.values, nearer.values, sum.values.begin(), std::plus<>());
  }
  for (float& value : sum.values) value /= static_cast<float>(steps + 2);
  return to_bytes(sum);
}

}  // namespace protogcd::corruption
