#include "protogcd/data/drawn/silhouette.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace protogcd::drawn {
namespace {

/// Of the grid. So little that a bar eight times as long as wide stays inside as it turns.
constexpr double kAreaShare = 1.0 / 8;

}  // namespace

Shape normalised(const Shape& shape) {
  constexpr int kPixels = 32;
  const Mask mask = rasterise(
      shape.transformed({.scale = kPixels / 2.0, .shift = {kPixels / 2.0, kPixels / 2.0}}),
      kPixels);
  double count = 0, sum_x = 0, sum_y = 0;
  for (int y = 0; y < mask.size; ++y) {
    for (int x = 0; x < mask.size; ++x) {
      if (mask.inside[std::size_t{1} * y * mask.size + x] == 0) continue;
      ++count;
      sum_x += x + 0.5;
      sum_y += y + 0.5;
    }
  }
  const double sample = 2.0 / mask.size;  // of the square from -1 to 1
  const double scale = 1 / (std::sqrt(std::max(count, 1.0)) * sample);
  const auto centre = [&](double sum) { return sum / std::max(count, 1.0) * sample - 1; };
  return shape.transformed(
      {.scale = scale, .shift = {-centre(sum_x) * scale, -centre(sum_y) * scale}});
}

Silhouette::Silhouette(const Shape& shape, const Transform& transform, int grid) {
  const int pixels = grid / Mask::kSamples;
  Transform placed = transform;
  placed.scale *= std::sqrt(kAreaShare) * pixels;
  placed.shift = {pixels / 2.0, pixels / 2.0};
  const Mask mask = rasterise(shape.transformed(placed), pixels);
  bits_.resize((mask.inside.size() + 63) / 64);
  for (std::size_t i = 0; i < mask.inside.size(); ++i) {
    bits_[i / 64] |= std::uint64_t{mask.inside[i]} << (i % 64);
    area_ += mask.inside[i];
  }
}

double Silhouette::overlap(const Silhouette& other) const {
  std::int64_t common = 0;
  for (std::size_t i = 0; i < bits_.size(); ++i) common += std::popcount(bits_[i] & other.bits_[i]);
  const auto either = static_cast<double>(area_ + other.area_ - common);
  return either > 0 ? static_cast<double>(common) / either : 0;
}

std::vector<Silhouette> rotated_silhouettes(const Shape& shape, const OverlapSearch& search) {
  const Shape upright = normalised(shape);
  std::vector<Silhouette> silhouettes;
  for (int i = 0; i < search.rotations; ++i) {
    Transform transform;
    transform.angle = 2 * std::numbers::pi * i / search.rotations;
    silhouettes.emplace_back(upright, transform, search.grid);
  }
  return silhouettes;
}

std::vector<Silhouette> scaled_silhouettes(const Shape& shape, const OverlapSearch& search) {
  const Shape upright = normalised(shape);
  std::vector<Silhouette> silhouettes;
  for (const double scale : search.scales) {
    for (const bool mirrored : {false, true}) {
      Transform transform;
      transform.scale = scale;
      transform.mirrored = mirrored;
      silhouettes.emplace_back(upright, transform, search.grid);
    }
  }
  return silhouettes;
}

double best_overlap(std::span<const Silhouette> rotated, std::span<const Silhouette> scaled) {
  double best = 0;
  for (const Silhouette& a : rotated) {
    for (const Silhouette& b : scaled) best = std::max(best, a.overlap(b));
  }
  return best;
}

double best_overlap(const Shape& a, const Shape& b, const OverlapSearch& search) {
  return best_overlap(rotated_silhouettes(a, search), scaled_silhouettes(b, search));
}

}  // namespace protogcd::drawn
