// Points of a plane, coordinates apart: what the steps of t-SNE work on.
#pragma once

#include <vector>

namespace protogcd {

struct MapPoints {
  std::vector<float> x, y;  ///< [N]
};

}  // namespace protogcd
