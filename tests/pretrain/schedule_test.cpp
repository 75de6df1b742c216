// The learning rate, step by step.
#include "protogcd/pretrain/schedule.h"

#include <gtest/gtest.h>

namespace protogcd {
namespace {

TEST(WarmupSchedule, RisesInAStraightLineAndFallsAsHalfACosine) {
  const WarmupSchedule schedule{.rate = 0.8, .steps = 105, .warmup = 4};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 3), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4), 0.8);
  EXPECT_NEAR(learning_rate(schedule, 29), 0.0008 + (0.8 - 0.0008) * 0.8535533905932737, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 54), (0.8 + 0.0008) / 2, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 104), 0.0008, 1e-12);
}

TEST(WarmupSchedule, MayHaveNoWarmupOrNothingElse) {
  EXPECT_DOUBLE_EQ(learning_rate({.rate = 1, .steps = 10, .warmup = 0}, 0), 1);
  EXPECT_DOUBLE_EQ(learning_rate({.rate = 1, .steps = 1, .warmup = 0}, 0), 1);
  EXPECT_DOUBLE_EQ(learning_rate({.rate = 1, .steps = 5, .warmup = 5}, 4), 1);
  EXPECT_DOUBLE_EQ(learning_rate({.rate = 1, .steps = 5, .warmup = 10}, 4), 0.5);
}

}  // namespace
}  // namespace protogcd
