#include "protogcd/image/corrupt/ice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "protogcd/image/corrupt/plasma.h"

namespace protogcd::corruption {
namespace {

struct Needle {
  double x = 0, y = 0;
  double angle = 0;  ///< radians
  double length = 0;
  float light = 1;
};

/// Draws crystals on one channel; where they cross, the lighter one shows.
class CrystalPen {
 public:
  CrystalPen(FloatImage& canvas, RandomStream& random) : canvas_(canvas), random_(random) {}

  /// A needle with smaller ones on both sides, which carry smaller ones, `generations` deep.
  void draw_fern(const Needle& needle, int generations) {
    draw_needle(needle);
    if (generations == 0 || needle.length < 3) return;
    // Ice crystals have sixfold symmetry: branches leave at 60 degrees.
    constexpr double kBranchAngle = std::numbers::pi / 3;
    const double spacing = std::max(3.0, needle.length / 10);
    for (double along = spacing; along < needle.length; along += spacing) {
      const double rest = 1 - along / needle.length;
      for (const double side : {-kBranchAngle, kBranchAngle}) {
        draw_fern({.x = needle.x + along * std::cos(needle.angle),
                   .y = needle.y + along * std::sin(needle.angle),
                   .angle = needle.angle + side + random_.uniform(-0.08, 0.08),
                   .length = needle.length * rest * random_.uniform(0.2, 0.6),
                   .light = needle.light * static_cast<float>(random_.uniform(0.75, 1))},
                  generations - 1);
      }
    }
  }

 private:
  void draw_needle(const Needle& needle) {
    constexpr double kStep = 0.5;
    for (double along = 0; along <= needle.length; along += kStep) {
      put(needle.x + along * std::cos(needle.angle), needle.y + along * std::sin(needle.angle),
          needle.light * static_cast<float>(1 - 0.5 * along / (needle.length + 1)));
    }
  }

  void put(double x, double y, float light) {
    const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
    const auto right_share = static_cast<float>(x - left);
    const auto lower_share = static_cast<float>(y - top);
    lighten(left, top, light * (1 - right_share) * (1 - lower_share));
    lighten(left + 1, top, light * right_share * (1 - lower_share));
    lighten(left, top + 1, light * (1 - right_share) * lower_share);
    lighten(left + 1, top + 1, light * right_share * lower_share);
  }

  void lighten(int x, int y, float light) {
    if (x < 0 || x >= canvas_.width || y < 0 || y >= canvas_.height) return;
    float& value = *canvas_.at(x, y);
    value = std::max(value, light);
  }

  FloatImage& canvas_;
  RandomStream& random_;
};

FloatImage draw_crystals(ImageSize size, RandomStream& random) {
  constexpr int kFerns = 20;
  constexpr int kGenerations = 3;
  FloatImage crystals(size, 1);
  CrystalPen pen(crystals, random);
  const double side = std::max(size.width, size.height);
  for (int i = 0; i < kFerns; ++i) {
    Needle stem;
    stem.x = random.uniform(0, size.width);
    stem.y = random.uniform(0, size.height);
    stem.angle = random.uniform(0, 2 * std::numbers::pi);
    stem.length = side * random.uniform(0.25, 0.7);
    pen.draw_fern(stem, kGenerations);
  }
  return crystals;
}

FloatImage draw_pane(ImageSize size, RandomStream& random) {
  // A bluish white.
  constexpr std::array<float, 3> kTint = {0.86f, 0.94f, 1.0f};
  constexpr double kFilmDecay = 1.5;
  const FloatImage film = plasma(size, kFilmDecay, random);
  const FloatImage crystals = draw_crystals(size, random);
  const FloatImage glow = gaussian_blur(crystals, 1.5);
  FloatImage pane(size, 3);
  for (std::size_t i = 0; i < film.values.size(); ++i) {
    const float crystal = 1.1f * glow.values[i] + 0.7f * crystals.values[i];
    const float ice = 0.1f + 0.25f * film.values[i] + (0.3f + 0.7f * film.values[i]) * crystal;
    for (std::size_t c = 0; c < 3; ++c) pane.values[3 * i + c] = std::min(1.0f, ice * kTint[c]);
  }
  return pane;
}

}  // namespace

FloatImage draw_ice(ImageSize size, RandomStream& random) {
  // Crystals look alike on a photograph of any size: large ones get an enlarged pane.
  constexpr double kLargestPane = 512;
  const double scale = std::max(1.0, std::max(size.width, size.height) / kLargestPane);
  if (scale == 1) return draw_pane(size, random);
  const auto shrunk = [&](int side) { return std::max(1, static_cast<int>(side / scale)); };
  const FloatImage pane = draw_pane({shrunk(size.width), shrunk(size.height)}, random);
  FloatImage result(size, 3);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) sample(pane, x / scale, y / scale, result.at(x, y));
  }
  return result;
}

}  // namespace protogcd::corruption
