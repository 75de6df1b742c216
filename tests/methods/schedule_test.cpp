// Learning rate and share of hard labels, epoch by epoch.
#include "protogcd/methods/learning_rate.h"
#include "protogcd/methods/protogcd/ramp.h"

#include <gmock/gmock.h>

#include <vector>

namespace protogcd {
namespace {

TEST(Schedule, TheRateFallsAlongACosineToAThousandth) {
  const ScheduleOptions options;
  for (const auto& [epoch, rate] : {std::pair{0, .1},
                                    {1, .09999384},
                                    {10, .09938503},
                                    {50, .08536998},
                                    {100, .05005},
                                    {150, .01473002},
                                    {190, .00071497},
                                    {199, .00010616}}) {
    EXPECT_NEAR(learning_rate(options, epoch), rate, 5e-9) << epoch;
  }
}

TEST(Schedule, HardLabelsRampUpAsTheReleasedCodeCountsThem) {
  const std::vector<std::int64_t> published = {
      0,   1,   2,   3,   5,   6,   7,   9,   10,  11,  12,  14,  15,  16,  18,  19,  20,
      21,  23,  24,  25,  27,  28,  29,  31,  32,  33,  34,  36,  37,  38,  40,  41,  42,
      43,  45,  46,  47,  49,  50,  51,  53,  54,  55,  56,  58,  59,  60,  62,  63,  64,
      65,  67,  68,  69,  71,  72,  73,  74,  76,  77,  78,  80,  81,  82,  84,  85,  86,
      87,  89,  90,  91,  93,  94,  95,  96,  98,  99,  100, 102, 103, 104, 106, 107, 108,
      109, 111, 112, 113, 115, 116, 117, 118, 120, 121, 122, 124, 125, 126, 128};
  ASSERT_EQ(published.size(), 100u);
  std::vector<std::int64_t> counts;
  for (int epoch = 0; epoch < 100; ++epoch) counts.push_back(hard_count({}, epoch, 128));
  EXPECT_EQ(counts, published);
  EXPECT_EQ(hard_count({}, 150, 128), 128);
}

TEST(Schedule, ThePapersRampReachesOneAtItsLastEpoch) {
  const RampOptions paper{.as_published = false};
  EXPECT_DOUBLE_EQ(hard_ratio(paper, 0), 0);
  EXPECT_DOUBLE_EQ(hard_ratio(paper, 99), 0.99);
  EXPECT_DOUBLE_EQ(hard_ratio(paper, 100), 1);
}

TEST(Schedule, ARampMayWaitAndBeginAndEndAtOtherShares) {
  // numpy: concatenate((zeros(2), linspace(0.2, 0.9, 5), 0.9 * ones(3)))
  const RampOptions ramp{.epochs = 5, .wait = 2, .from = 0.2, .to = 0.9};
  const double expected[] = {0, 0, 0.2, 0.375, 0.55, 0.725, 0.9, 0.9, 0.9, 0.9};
  for (int epoch = 0; epoch < 10; ++epoch)
    EXPECT_NEAR(hard_ratio(ramp, epoch), expected[epoch], 1e-15) << epoch;
  const RampOptions paper{.epochs = 5, .wait = 2, .from = 0.2, .to = 0.9, .as_published = false};
  EXPECT_DOUBLE_EQ(hard_ratio(paper, 1), 0);
  EXPECT_DOUBLE_EQ(hard_ratio(paper, 6), 0.2 + 0.7 * 4 / 5);
  EXPECT_DOUBLE_EQ(hard_ratio(paper, 7), 0.9);
}

TEST(Schedule, AblationsKeepTheShareFixed) {
  for (const auto& [kind, ratio] :
       {std::pair{HardLabels::kAll, 1.0}, {HardLabels::kNone, 0.0}, {HardLabels::kHalf, 0.5}}) {
    for (const int epoch : {0, 99, 199}) {
      EXPECT_EQ(hard_ratio({.hard_labels = kind}, epoch), ratio);
    }
  }
}

TEST(Schedule, ARampOfNoEpochsIsHardFromTheStart) {
  EXPECT_EQ(hard_ratio({.epochs = 0}, 0), 1);
  EXPECT_EQ(hard_ratio({.epochs = 1}, 0), 0);
  EXPECT_EQ(hard_ratio({.epochs = 1}, 1), 1);
}

}  // namespace
}  // namespace protogcd
