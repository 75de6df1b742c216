#include "protogcd/data/drawn/geometry.h"

#include <cmath>
#include <numbers>

namespace protogcd::drawn {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr int kCurvePoints = 48;  // per full turn: smooth at the sizes drawn here

void append_arc(Polygon& polygon, Point centre, double radius, double from, double to) {
  const int count =
      std::max(2, static_cast<int>(std::ceil(std::abs(to - from) / kTurn * kCurvePoints)));
  for (int i = 0; i <= count; ++i) {
    const double angle = from + (to - from) * i / count;
    polygon.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
  }
}

}  // namespace

Polygon circle(Point centre, double radius) {
  return ellipse(centre, radius, radius);
}

Polygon ellipse(Point centre, double radius_x, double radius_y, double angle) {
  Polygon polygon;
  for (int i = 0; i < kCurvePoints; ++i) {
    const double x = radius_x * std::cos(kTurn * i / kCurvePoints);
    const double y = radius_y * std::sin(kTurn * i / kCurvePoints);
    polygon.push_back({centre.x + x * std::cos(angle) - y * std::sin(angle),
                       centre.y + x * std::sin(angle) + y * std::cos(angle)});
  }
  return polygon;
}

Polygon rectangle(double left, double top, double right, double bottom) {
  return {{left, top}, {right, top}, {right, bottom}, {left, bottom}};
}

Polygon rounded_rectangle(double left, double top, double right, double bottom, double radius) {
  Polygon polygon;
  append_arc(polygon, {right - radius, top + radius}, radius, -kTurn / 4, 0);
  append_arc(polygon, {right - radius, bottom - radius}, radius, 0, kTurn / 4);
  append_arc(polygon, {left + radius, bottom - radius}, radius, kTurn / 4, kTurn / 2);
  append_arc(polygon, {left + radius, top + radius}, radius, kTurn / 2, 3 * kTurn / 4);
  return polygon;
}

Polygon bar(Point a, Point b, double width) {
  const double length = std::hypot(b.x - a.x, b.y - a.y);
  const Point side = {-(b.y - a.y) / length * width / 2, (b.x - a.x) / length * width / 2};
  return {{a.x + side.x, a.y + side.y},
          {b.x + side.x, b.y + side.y},
          {b.x - side.x, b.y - side.y},
          {a.x - side.x, a.y - side.y}};
}

Polygon star(Point centre, int points, double inner_radius, double outer_radius) {
  Polygon polygon;
  for (int i = 0; i < 2 * points; ++i) {
    const double angle = kTurn * i / (2 * points) - kTurn / 4;
    const double radius = i % 2 == 0 ? outer_radius : inner_radius;
    polygon.push_back({centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)});
  }
  return polygon;
}

Polygon ring_sector(Point centre, double inner_radius, double outer_radius, double from,
                    double to) {
  Polygon polygon;
  append_arc(polygon, centre, outer_radius, from, to);
  append_arc(polygon, centre, inner_radius, to, from);
  return polygon;
}

Point Transform::operator()(Point point) const {
  const double x = (mirrored ? -point.x : point.x) * stretch * scale, y = point.y * scale;
  return {x * std::cos(angle) - y * std::sin(angle) + shift.x,
          x * std::sin(angle) + y * std::cos(angle) + shift.y};
}

Polygon transformed(const Polygon& polygon, const Transform& transform) {
  Polygon result;
  result.reserve(polygon.size());
  for (const Point& point : polygon) result.push_back(transform(point));
  return result;
}

}  // namespace protogcd::drawn
