// All shapes that the built-in backbone was trained on (docs/builtin-backbone.md), not a few of
// them.
#include <gtest/gtest.h>

#include "tests/data/shape_helpers.h"

namespace protogcd::drawn {
namespace {

TEST(ShapeClasses, NoneOfTheBuiltinBackbonesIsACategoryOfTheDemo) {
  const double highest = testing::most_like_demo(testing::classes_of(200, 1));
  RecordProperty("highest", std::to_string(highest));
  EXPECT_LE(highest, 0.8);
}

}  // namespace
}  // namespace protogcd::drawn
