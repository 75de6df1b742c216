// A silhouette made of added and cut-out polygons, and its coverage of a pixel grid.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "protogcd/data/drawn/geometry.h"

namespace protogcd::drawn {

/// Parts are applied in order: each adds its inside to the silhouette or cuts it out. Coordinates
/// are within [-1, 1].
class Shape {
 public:
  struct Part {
    Polygon outline;
    bool adds = true;
  };

  Shape& add(Polygon outline) {
    parts_.push_back({std::move(outline), true});
    return *this;
  }
  Shape& cut(Polygon outline) {
    parts_.push_back({std::move(outline), false});
    return *this;
  }

  const std::vector<Part>& parts() const { return parts_; }
  Shape transformed(const Transform& transform) const;

 private:
  std::vector<Part> parts_;
};

/// Which sample points of a finer grid lie inside, kSamples x kSamples for every pixel.
struct Mask {
  static constexpr int kSamples = 4;

  explicit Mask(int pixel_size)
      : size(pixel_size * kSamples), inside(std::size_t{1} * size * size) {}

  int size;                          ///< samples along each side
  std::vector<std::uint8_t> inside;  ///< [size, size], 0 or 1

  /// Share of each pixel that is inside: [pixels, pixels], row by row.
  std::vector<float> coverage() const;
  double area_share() const;
  /// Grown (positive) or shrunk (negative) by a distance in pixels.
  Mask grown(double pixels) const;
};

/// Rasterises a shape given in pixel coordinates onto a square of pixel_size x pixel_size.
Mask rasterise(const Shape& shape, int pixel_size);

}  // namespace protogcd::drawn
