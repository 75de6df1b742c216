#include "protogcd/image/affine.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr double kFixedOne = 65536;

/// The nearest pixel's place on one axis as it runs; -1: outside.
std::vector<int> nearest_places(double scale, double offset, int count, int size) {
  std::vector<int> places(static_cast<std::size_t>(count));
  double at = offset + scale * 0.5;
  for (int& place : places) {
    place = at < 0 || at >= size ? -1 : static_cast<int>(at);
    at += scale;
  }
  return places;
}

/// Rows stay rows: exact sums of float64, as Pillow takes them.
Image scaled_nearest(const Image& image, const AffineMatrix& m) {
  Image result(image.width, image.height);
  const auto columns = nearest_places(m[0], m[2], image.width, image.width),
             rows = nearest_places(m[4], m[5], image.height, image.height);
  for (int y = 0; y < image.height; ++y) {
    const int from_y = rows[static_cast<std::size_t>(y)];
    if (from_y < 0) continue;
    for (int x = 0; x < image.width; ++x) {
      const int from_x = columns[static_cast<std::size_t>(x)];
      if (from_x >= 0) std::copy_n(image.at(from_x, from_y), 3, result.at(x, y));
    }
  }
  return result;
}

std::int64_t to_fixed(double value) {
  return static_cast<std::int64_t>(std::floor(value * kFixedOne + 0.5));
}

double to_fifteen_digits(double value) {
  return std::nearbyint(value * 1e15) / 1e15;
}

}  // namespace

Image transformed(const Image& image, const AffineMatrix& m) {
  if (m[1] == 0 && m[3] == 0) return scaled_nearest(image, m);
  Image result(image.width, image.height);
  const std::int64_t x_by_x = to_fixed(m[0]), x_by_y = to_fixed(m[1]), y_by_x = to_fixed(m[3]),
                     y_by_y = to_fixed(m[4]);
  std::int64_t row_x = to_fixed(m[2] + m[0] * 0.5 + m[1] * 0.5),
               row_y = to_fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
  for (int y = 0; y < image.height; ++y, row_x += x_by_y, row_y += y_by_y) {
    std::int64_t at_x = row_x, at_y = row_y;
    for (int x = 0; x < image.width; ++x, at_x += x_by_x, at_y += y_by_x) {
      const std::int64_t from_x = at_x >> 16, from_y = at_y >> 16;
      if (from_x < 0 || from_x >= image.width || from_y < 0 || from_y >= image.height) continue;
      std::copy_n(image.at(static_cast<int>(from_x), static_cast<int>(from_y)), 3, result.at(x, y));
    }
  }
  return result;
}

Image rotated(const Image& image, double degrees) {
  if (degrees == 0) return image;
  if (degrees <= -90 || degrees >= 90) throw InternalError("rotated: 90 degrees or more");
  const double angle = -degrees * std::numbers::pi / 180, x = image.width / 2.0,
               y = image.height / 2.0;
  const double cosine = to_fifteen_digits(std::cos(angle)),
               sine = to_fifteen_digits(std::sin(angle));
  return transformed(image, {cosine, sine, cosine * -x + sine * -y + x,  //
                             -sine, cosine, -sine * -x + cosine * -y + y});
}

Image sheared_x(const Image& image, double slope) {
  return transformed(image, {1, slope, 0, 0, 1, 0});
}

Image sheared_y(const Image& image, double slope) {
  return transformed(image, {1, 0, 0, slope, 1, 0});
}

Image shifted(const Image& image, int right, int down) {
  return transformed(image, {1, 0, static_cast<double>(-right), 0, 1, static_cast<double>(-down)});
}

}  // namespace protogcd
