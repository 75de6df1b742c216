#include "protogcd/data/drawn/random_shape.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace protogcd::drawn {
namespace {

Polygon mirrored(Polygon polygon) {
  for (Point& point : polygon) point.x = -point.x;
  return polygon;
}

/// A closed curve whose radius swings a few times on its way round; about the vertical axis it is
/// its own mirror image if `symmetric`.
Polygon random_blob(bool symmetric, RandomStream& random) {
  constexpr int kPoints = 96, kWaves = 5;
  double height[kWaves], phase[kWaves];
  for (int wave = 0; wave < kWaves; ++wave) {
    height[wave] = random.uniform(-0.4, 0.4) / std::sqrt(wave + 1.0);
    phase[wave] = symmetric ? 0 : random.uniform(0, 2 * std::numbers::pi);
  }
  Polygon outline;
  for (int i = 0; i < kPoints; ++i) {
    const double angle = 2 * std::numbers::pi * i / kPoints;  // from the top
    double radius = 1;
    for (int wave = 0; wave < kWaves; ++wave)
      radius += height[wave] * std::cos((wave + 2) * angle + phase[wave]);
    radius = std::max(radius, 0.15);
    outline.push_back({radius * std::sin(angle), -radius * std::cos(angle)});
  }
  return outline;
}

/// Corners at random distances on the way round the centre.
Polygon random_polygon(bool symmetric, RandomStream& random) {
  const auto corners = static_cast<int>(random.between(symmetric ? 3 : 4, symmetric ? 5 : 9));
  const double turn = symmetric ? std::numbers::pi : 2 * std::numbers::pi;
  Polygon half;
  for (int i = 0; i < corners; ++i) {
    const double angle = turn * (i + random.uniform(0.15, 0.85)) / corners;
    const double radius = random.uniform(0.25, 1);
    half.push_back({radius * std::sin(angle), -radius * std::cos(angle)});
  }
  if (!symmetric) return half;
  Polygon outline = {{0, -random.uniform(0.2, 1)}};
  outline.insert(outline.end(), half.begin(), half.end());
  outline.push_back({0, random.uniform(0.2, 1)});
  const Polygon other = mirrored(half);
  outline.insert(outline.end(), other.rbegin(), other.rend());
  return outline;
}

/// About the origin, of extent 1 at most.
Polygon random_primitive(RandomStream& random) {
  const double narrow = random.uniform(0.25, 0.7);
  switch (random.below(7)) {
    case 0:
      return circle({0, 0}, random.uniform(0.5, 0.9));
    case 1:
      return ellipse({0, 0}, 1, narrow);
    case 2:
      return rectangle(-1, -narrow, 1, narrow);
    case 3:
      return rounded_rectangle(-1, -narrow, 1, narrow, narrow * random.uniform(0.2, 0.9));
    case 4:
      return star({0, 0}, static_cast<int>(random.between(3, 7)), random.uniform(0.35, 0.75), 1);
    case 5:
      return ring_sector({0, 0}, random.uniform(0.3, 0.65), 1, 0, random.uniform(2, 5.5));
    default:
      return {{-1, random.uniform(0.2, 0.8)}, {random.uniform(-1, 1), -0.9}, {1, narrow}};
  }
}

/// A large primitive with smaller ones grown from its edge or cut out of it.
Shape random_composite(bool symmetric, RandomStream& random) {
  const auto turned = [&](double scale, Point shift) {
    return transformed(
        random_primitive(random),
        {.angle = random.uniform(0, 2 * std::numbers::pi), .scale = scale, .shift = shift});
  };
  Shape shape;
  const auto put = [&](const Polygon& outline, bool adds) {
    for (const bool second : {false, true}) {
      if (second && !symmetric) break;
      const Polygon part = second ? mirrored(outline) : outline;
      adds ? shape.add(part) : shape.cut(part);
    }
  };
  std::vector<Polygon> edges = {turned(0.6, {symmetric ? 0 : random.uniform(-0.2, 0.2), 0})};
  put(edges.front(), true);
  const auto more = random.between(1, 4);
  for (std::int64_t i = 0; i < more; ++i) {
    const Polygon& edge = edges[random.below(edges.size())];
    const Point from = edge[random.below(edge.size())];
    const bool adds = random.chance(0.75);
    const Polygon part = turned(random.uniform(0.18, adds ? 0.5 : 0.3), from);
    put(part, adds);
    if (adds) edges.push_back(part);
  }
  return shape;
}

/// Scaled about the middle of its extent to fill [-0.97, 0.97] along the longer side.
Shape fitted(const Shape& shape) {
  Point least = {1e9, 1e9}, most = {-1e9, -1e9};
  for (const auto& part : shape.parts()) {
    if (!part.adds) continue;
    for (const Point& point : part.outline) {
      least = {std::min(least.x, point.x), std::min(least.y, point.y)};
      most = {std::max(most.x, point.x), std::max(most.y, point.y)};
    }
  }
  const double scale = 2 * 0.97 / std::max(most.x - least.x, most.y - least.y);
  return shape.transformed(
      {.scale = scale,
       .shift = {-(least.x + most.x) / 2 * scale, -(least.y + most.y) / 2 * scale}});
}

}  // namespace

Shape draw_random_shape(RandomStream& random) {
  const bool symmetric = random.chance(0.4);
  const auto kind = random.below(10);
  if (kind >= 5) return fitted(random_composite(symmetric, random));
  Shape shape;
  shape.add(kind < 2 ? random_blob(symmetric, random) : random_polygon(symmetric, random));
  if (random.chance(0.3)) {
    const Polygon hole =
        transformed(random_primitive(random), {.angle = random.uniform(0, 2 * std::numbers::pi),
                                               .scale = random.uniform(0.15, 0.3),
                                               .shift = {0, random.uniform(-0.3, 0.3)}});
    shape.cut(hole);
    if (symmetric) shape.cut(mirrored(hole));
  }
  return fitted(shape);
}

}  // namespace protogcd::drawn
