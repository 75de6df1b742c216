// How much random shapes have in common with the demo's objects.
#pragma once

#include <algorithm>
#include <vector>

#include "protogcd/data/drawn/categories.h"
#include "protogcd/data/drawn/shapes_dataset.h"
#include "protogcd/data/drawn/silhouette.h"

namespace protogcd::testing {

inline std::vector<drawn::Shape> classes_of(std::size_t count, std::uint64_t seed,
                                            std::size_t threads = 2) {
  return drawn::shape_classes(count, {.threads = threads, .seed = seed});
}

/// The highest overlap at the best rotation and scale, by a search finer than the one that chose
/// the shapes, and against objects with other proportions.
inline double most_like_demo(const std::vector<drawn::Shape>& shapes) {
  const drawn::OverlapSearch fine{
      .grid = 80, .rotations = 120, .scales = {0.9, 0.93, 0.96, 1, 1.03, 1.07, 1.11}};
  std::vector<drawn::Silhouette> demo;
  for (const drawn::Category& category : drawn::demo_categories()) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      RandomStream random({.seed = 77, .purpose = RandomPurpose::kTest, .position = i});
      const auto of_one = scaled_silhouettes(category.draw(random), fine);
      demo.insert(demo.end(), of_one.begin(), of_one.end());
    }
  }
  double highest = 0;
  for (const drawn::Shape& shape : shapes)
    highest = std::max(highest, best_overlap(rotated_silhouettes(shape, fine), demo));
  return highest;
}

}  // namespace protogcd::testing
