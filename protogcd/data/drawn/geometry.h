// Points, polygons and the primitives drawn objects are made of. y points down, as in images.
#pragma once

#include <span>
#include <vector>

namespace protogcd::drawn {

struct Point {
  double x = 0, y = 0;
};

using Polygon = std::vector<Point>;

Polygon circle(Point centre, double radius);
Polygon ellipse(Point centre, double radius_x, double radius_y, double angle = 0);
Polygon rectangle(double left, double top, double right, double bottom);
Polygon rounded_rectangle(double left, double top, double right, double bottom, double radius);
/// A bar from a to b with the given width and flat ends.
Polygon bar(Point a, Point b, double width);
/// A star with alternating radii, its first outer point on top; `points` outer points.
Polygon star(Point centre, int points, double inner_radius, double outer_radius);
/// Part of a ring between two angles (radians, clockwise from the x axis).
Polygon ring_sector(Point centre, double inner_radius, double outer_radius, double from, double to);

/// Rotation, scale and shift, after an optional mirroring and stretching along x.
struct Transform {
  double angle = 0;
  double scale = 1;
  double stretch = 1;
  bool mirrored = false;
  Point shift;

  Point operator()(Point point) const;
};

Polygon transformed(const Polygon& polygon, const Transform& transform);

}  // namespace protogcd::drawn
