// The twenty object categories of the built-in dataset: ten old, six new, four that appear only as
// outliers.
#pragma once

#include <span>
#include <string_view>

#include "protogcd/core/random.h"
#include "protogcd/data/drawn/shape.h"

namespace protogcd::drawn {

enum class CategoryRole { kOld, kNew, kOutlier };

struct Category {
  std::string_view name;
  CategoryRole role;
  /// One object of the category, upright, within [-1, 1]; the stream varies its proportions.
  Shape (*draw)(RandomStream&);
};

std::span<const Category> demo_categories();

}  // namespace protogcd::drawn
