#include "protogcd/data/drawn/shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace protogcd::drawn {
namespace {

/// Rounded to 1/256 of a sample, so that the last bit of a sine, which differs between CPUs, cannot
/// move an edge.
Point snapped(Point point) {
  constexpr double kGrid = 256;
  return {std::round(point.x * Mask::kSamples * kGrid) / kGrid,
          std::round(point.y * Mask::kSamples * kGrid) / kGrid};
}

/// Sets the samples inside the polygon (even-odd rule) to `value`, one row of samples at a time.
void fill(Mask& mask, const Polygon& outline, std::uint8_t value) {
  Polygon points;
  points.reserve(outline.size());
  for (const Point& point : outline) points.push_back(snapped(point));
  std::vector<double> crossings;
  for (int row = 0; row < mask.size; ++row) {
    const double y = row + 0.5;
    crossings.clear();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point& a = points[i];
      const Point& b = points[(i + 1) % points.size()];
      if ((a.y <= y) != (b.y <= y))
        crossings.push_back(a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x));
    }
    std::ranges::sort(crossings);
    for (std::size_t i = 0; i + 1 < crossings.size(); i += 2) {
      const int begin = std::clamp(static_cast<int>(std::ceil(crossings[i] - 0.5)), 0, mask.size);
      const int end =
          std::clamp(static_cast<int>(std::ceil(crossings[i + 1] - 0.5)), begin, mask.size);
      const auto line = mask.inside.begin() + static_cast<std::ptrdiff_t>(row) * mask.size;
      std::fill(line + begin, line + end, value);
    }
  }
}

/// Distance of every sample to the nearest one that is `target`, in thirds of a sample (3-4
/// chamfer, two passes).
std::vector<int> distance_to(const Mask& mask, std::uint8_t target) {
  constexpr int kStraight = 3, kDiagonal = 4, kFar = 1 << 20;
  const int size = mask.size;
  std::vector<int> distance(mask.inside.size());
  std::ranges::transform(mask.inside, distance.begin(),
                         [&](std::uint8_t value) { return value == target ? 0 : kFar; });
  const auto relax = [&](int x, int y, int dx, int dy) {
    if (x + dx < 0 || x + dx >= size || y + dy < 0 || y + dy >= size) return;
    const int step = dx != 0 && dy != 0 ? kDiagonal : kStraight;
    int& here = distance[std::size_t{1} * y * size + x];
    here = std::min(here, distance[std::size_t{1} * (y + dy) * size + x + dx] + step);
  };
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      for (const auto& [dx, dy] : {std::pair{-1, 0}, {-1, -1}, {0, -1}, {1, -1}})
        relax(x, y, dx, dy);
    }
  }
  for (int y = size - 1; y >= 0; --y) {
    for (int x = size - 1; x >= 0; --x) {
      for (const auto& [dx, dy] : {std::pair{1, 0}, {1, 1}, {0, 1}, {-1, 1}}) relax(x, y, dx, dy);
    }
  }
  return distance;
}

}  // namespace

Shape Shape::transformed(const Transform& transform) const {
  Shape result;
  for (const auto& part : parts_) {
    result.parts_.push_back({drawn::transformed(part.outline, transform), part.adds});
  }
  return result;
}

std::vector<float> Mask::coverage() const {
  const int pixels = size / kSamples;
  std::vector<float> share(std::size_t{1} * pixels * pixels);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      share[std::size_t{1} * (y / kSamples) * pixels + x / kSamples] +=
          inside[std::size_t{1} * y * size + x];
    }
  }
  for (float& value : share) value /= kSamples * kSamples;
  return share;
}

double Mask::area_share() const {
  return static_cast<double>(std::accumulate(inside.begin(), inside.end(), std::size_t{0})) /
         static_cast<double>(inside.size());
}

Mask Mask::grown(double pixels) const {
  const bool grows = pixels > 0;
  const auto distance = distance_to(*this, grows ? 1 : 0);
  const int limit = static_cast<int>(std::lround(std::abs(pixels) * kSamples * 3));
  Mask result = *this;
  for (std::size_t i = 0; i < distance.size(); ++i) {
    result.inside[i] = grows ? distance[i] <= limit : distance[i] > limit;
  }
  return result;
}

Mask rasterise(const Shape& shape, int pixel_size) {
  Mask mask(pixel_size);
  for (const auto& part : shape.parts()) fill(mask, part.outline, part.adds ? 1 : 0);
  return mask;
}

}  // namespace protogcd::drawn
