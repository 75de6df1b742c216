#include "protogcd/analysis/bounded_minimum.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace protogcd {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAreArray;

TEST(BoundedMinimum, LooksAtTheNumbersThatScipyLooksAt) {
  std::vector<int> probes;
  const auto distance = [&](double place) {
    probes.push_back(static_cast<int>(place));
    return std::abs(probes.back() - 97) / 97.0;
  };
  EXPECT_NEAR(bounded_minimum(distance, {.low = 80, .high = 1000}), 97.32557053913334, 1e-9);
  ASSERT_EQ(probes.size(), 39U);
  probes.resize(18);
  EXPECT_THAT(probes, ElementsAreArray({431, 648, 297, 214, 162, 131, 111, 99, 92, 98, 96, 94, 97,
                                        97, 97, 97, 97, 96}));
}

TEST(BoundedMinimum, FindsTheMinimumOfASmoothFunctionInAFewSteps) {
  int evaluations = 0;
  const auto bowl = [&](double x) {
    ++evaluations;
    return std::cos(x) + 0.1 * x * x;
  };
  EXPECT_NEAR(bounded_minimum(bowl, {.low = 0, .high = 5}), 2.595739060247299, 1e-12);
  EXPECT_EQ(evaluations, 10);
}

TEST(BoundedMinimum, StopsAtTheMostEvaluations) {
  int evaluations = 0;
  bounded_minimum([&](double x) { return ++evaluations, x; },
                  {.low = 0, .high = 1, .most_evaluations = 4});
  EXPECT_EQ(evaluations, 4);
}

}  // namespace
}  // namespace protogcd
