// How alike two shapes are, whatever their place, size, rotation and mirroring: the overlap of
// their silhouettes where it is best.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protogcd/data/drawn/shape.h"

namespace protogcd::drawn {

/// How silhouettes are compared: on a grid of so many points a side, at evenly spaced rotations,
/// and at these sizes beside that of equal area. Overlaps above 0.8 are possible between the
/// areas' ratios 0.8 and 1.25 alone: sizes further from 1 than 1.12 need not be looked at.
struct OverlapSearch {
  int grid = 64;  ///< a multiple of Mask::kSamples
  int rotations = 72;
  std::vector<double> scales = {0.9, 0.95, 1, 1.05, 1.11};
};

/// Moved and scaled: its centroid is the origin and its area is 1.
Shape normalised(const Shape& shape);

/// A shape as bits of a grid, its origin in the middle.
class Silhouette {
 public:
  /// `shape` is a normalised one; `transform` turns, scales and mirrors it.
  Silhouette(const Shape& shape, const Transform& transform, int grid);

  /// Intersection over union.
  double overlap(const Silhouette& other) const;

 private:
  std::vector<std::uint64_t> bits_;
  std::int64_t area_ = 0;
};

/// The shape at each of the search's rotations.
std::vector<Silhouette> rotated_silhouettes(const Shape& shape, const OverlapSearch& search);
/// The shape upright, at each of the search's sizes, mirrored and not.
std::vector<Silhouette> scaled_silhouettes(const Shape& shape, const OverlapSearch& search);

/// The highest of any pair's. The first shape's rotations against the second's sizes.
double best_overlap(std::span<const Silhouette> rotated, std::span<const Silhouette> scaled);
double best_overlap(const Shape& a, const Shape& b, const OverlapSearch& search = {});

}  // namespace protogcd::drawn
