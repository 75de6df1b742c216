#include "protogcd/data/drawn/scene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

namespace protogcd::drawn {
namespace {

using Colour = std::array<float, 3>;  ///< red, green, blue in [0, 1]
using Paint = std::function<Colour(double x, double y)>;

Colour random_colour(RandomStream& random) {
  const double hue = random.uniform(0, 6), saturation = random.uniform(0.15, 1),
               value = random.uniform(0.2, 1);
  Colour colour{};
  for (int channel = 0; channel < 3; ++channel) {
    const double k = std::fmod(5.0 - 2 * channel + hue, 6.0);
    colour[channel] =
        static_cast<float>(value - value * saturation * std::clamp(std::min(k, 4 - k), 0.0, 1.0));
  }
  return colour;
}

float difference(const Colour& a, const Colour& b) {
  return std::sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                   (a[2] - b[2]) * (a[2] - b[2]));
}

Colour mixed(const Colour& a, const Colour& b, double share) {
  Colour result;
  for (int i = 0; i < 3; ++i) result[i] = a[i] + static_cast<float>(share) * (b[i] - a[i]);
  return result;
}

/// A colour that stands out against all of the others; the best of many tries.
Colour contrasting_colour(std::span<const Colour> others, RandomStream& random) {
  constexpr float kEnough = 0.45F;
  Colour best = random_colour(random);
  float best_contrast = -1;
  for (int attempt = 0; attempt < 24 && best_contrast < kEnough; ++attempt) {
    const Colour colour = random_colour(random);
    float contrast = 2;
    for (const Colour& other : others) contrast = std::min(contrast, difference(colour, other));
    if (contrast > best_contrast) {
      best_contrast = contrast;
      best = colour;
    }
  }
  return best;
}

/// Plain, gradient, stripes, checks, dots or waves between two colours, at a random angle and
/// period.
Paint random_texture(const Colour& a, const Colour& b, int size, RandomStream& random) {
  const double angle = random.uniform(0, 2 * std::numbers::pi),
               period = random.uniform(0.08, 0.3) * size;
  const double c = std::cos(angle), s = std::sin(angle), phase = random.uniform(0, period);
  const auto wave = [period](double t) { return t / period - std::floor(t / period); };
  switch (random.below(6)) {
    case 0:
      return [a](double, double) { return a; };
    case 1:
      return [=](double x, double y) {
        return mixed(a, b, std::clamp((x * c + y * s) / size * 0.7 + 0.5, 0.0, 1.0));
      };
    case 2:
      return [=](double x, double y) { return wave(x * c + y * s + phase) < 0.5 ? a : b; };
    case 3:
      return [=](double x, double y) {
        return (wave(x * c + y * s + phase) < 0.5) == (wave(y * c - x * s + phase) < 0.5) ? a : b;
      };
    case 4:
      return [=](double x, double y) {
        return std::hypot(wave(x * c + y * s + phase) - 0.5, wave(y * c - x * s) - 0.5) < 0.3 ? b
                                                                                              : a;
      };
    default:
      return [=](double x, double y) {
        const double bend = std::sin((y * c - x * s) / period * 2) * 0.3 * period;
        return mixed(
            a, b,
            0.5 + 0.5 * std::sin((x * c + y * s + bend + phase) / period * 2 * std::numbers::pi));
      };
  }
}

class Canvas {
 public:
  explicit Canvas(int size) : size_(size), pixels_(std::size_t{1} * size * size) {}

  void paint(const Paint& paint, const std::vector<float>& coverage, float opacity = 1) {
    for (int y = 0; y < size_; ++y) {
      for (int x = 0; x < size_; ++x) {
        const std::size_t at = std::size_t{1} * y * size_ + x;
        if (coverage[at] > 0) pixels_[at] = mixed(pixels_[at], paint(x, y), opacity * coverage[at]);
      }
    }
  }

  void paint_all(const Paint& colour) { paint(colour, std::vector<float>(pixels_.size(), 1)); }

  /// To 8 bits, with a little sensor noise.
  Image finish(double noise, RandomStream& random) const {
    Image image(size_, size_);
    for (std::size_t i = 0; i < pixels_.size(); ++i) {
      for (int channel = 0; channel < 3; ++channel) {
        const double value = pixels_[i][channel] * 255 + noise * random.normal();
        image.pixels[3 * i + channel] =
            static_cast<std::uint8_t>(std::clamp(std::round(value), 0.0, 255.0));
      }
    }
    return image;
  }

 private:
  int size_;
  std::vector<Colour> pixels_;
};

Shape random_blot(int size, double extent, RandomStream& random) {
  const Point centre = {random.uniform(0, size), random.uniform(0, size)};
  const double radius = extent * size * random.uniform(0.5, 1);
  switch (random.below(4)) {
    case 0:
      return Shape().add(circle(centre, radius * 0.6));
    case 1:
      return Shape().add(star(centre, 3, radius * 0.4, radius));
    case 2:
      return Shape().add(ring_sector(centre, radius * 0.5, radius * 0.75, 0, random.uniform(2, 6)));
    default: {
      const double angle = random.uniform(0, 2 * std::numbers::pi);
      return Shape().add(
          bar(centre,
              {centre.x + 3 * radius * std::cos(angle), centre.y + 3 * radius * std::sin(angle)},
              radius * random.uniform(0.15, 0.4)));
    }
  }
}

Transform random_pose(int size, double most_turned, RandomStream& random) {
  const double scale = random.uniform(0.3, 0.44) * size, room = 0.47 * size - scale;
  return {.angle = random.uniform(-most_turned, most_turned) * std::numbers::pi / 180,
          .scale = scale,
          .stretch = random.uniform(0.85, 1.15),
          .mirrored = random.chance(0.5),
          .shift = {size / 2.0 + random.uniform(-room, room),
                    size / 2.0 + random.uniform(-room, room)}};
}

/// A bar over part of the object, in a colour of its own.
void occlude(Canvas& canvas, const Mask& object, int size, const Colour& colour,
             RandomStream& random) {
  constexpr double kMostHidden = 0.22;
  const double angle = random.uniform(0, 2 * std::numbers::pi),
               width = random.uniform(0.06, 0.14) * size;
  const Point middle = {size * random.uniform(0.3, 0.7), size * random.uniform(0.3, 0.7)};
  const Point along = {size * std::cos(angle), size * std::sin(angle)};
  const Mask band = rasterise(Shape().add(bar({middle.x - along.x, middle.y - along.y},
                                              {middle.x + along.x, middle.y + along.y}, width)),
                              size);
  std::size_t hidden = 0, total = 0;
  for (std::size_t i = 0; i < object.inside.size(); ++i) {
    total += object.inside[i];
    hidden += object.inside[i] & band.inside[i];
  }
  if (static_cast<double>(hidden) > kMostHidden * static_cast<double>(total)) return;
  canvas.paint([colour](double, double) { return colour; }, band.coverage());
}

}  // namespace

Image draw_scene(const Shape& shape, int size, double most_turned, RandomStream& random) {
  Canvas canvas(size);
  const Colour ground = random_colour(random);
  const Colour ground_second = mixed(ground, random_colour(random), random.uniform(0.1, 0.45));
  canvas.paint_all(random_texture(ground, ground_second, size, random));
  const auto blots = random.below(7);
  for (std::uint64_t i = 0; i < blots; ++i) {
    const Colour colour = mixed(ground, random_colour(random), random.uniform(0.15, 0.55));
    canvas.paint([colour](double, double) { return colour; },
                 rasterise(random_blot(size, 0.16, random), size).coverage());
  }

  const std::array grounds = {ground, ground_second};
  const Colour fill = contrasting_colour(grounds, random);
  const Colour fill_second =
      mixed(fill, contrasting_colour(grounds, random), random.uniform(0.1, 0.6));
  const Paint texture = random_texture(fill, fill_second, size, random);
  const Mask object = rasterise(shape.transformed(random_pose(size, most_turned, random)), size);
  const double stroke = random.uniform(0.012, 0.026) * size;
  const bool outline_only = random.chance(0.25);
  if (outline_only) {
    canvas.paint(texture, object.grown(stroke).coverage());
    // What is inside the line shows the background's colour again.
    canvas.paint([ground](double, double) { return ground; }, object.grown(-stroke).coverage());
  } else if (random.chance(0.5)) {
    const Colour line = contrasting_colour(std::array{fill, fill_second}, random);
    canvas.paint([line](double, double) { return line; }, object.grown(stroke).coverage());
    canvas.paint(texture, object.coverage());
  } else {
    canvas.paint(texture, object.coverage());
  }
  if (random.chance(0.2)) occlude(canvas, object, size, random_colour(random), random);
  return canvas.finish(random.uniform(0, 8), random);
}

}  // namespace protogcd::drawn
