// Intervals of accuracies, held to known chances and to the binomial formula.
#include "protogcd/analysis/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

/// Images of `classes` classes, each put into its own cluster with the chance of its group, else
/// into the next one.
struct Simulated {
  Simulated(std::int64_t images, std::int32_t classes, std::int32_t old_classes, double right_old,
            double right_new, std::uint64_t draw) {
    RandomStream random({.seed = draw});
    for (std::int64_t i = 0; i < images; ++i) {
      const auto truth = static_cast<std::int32_t>(random.below(std::uint64_t(classes)));
      const bool is_right = random.chance(truth < old_classes ? right_old : right_new);
      truths.push_back(truth);
      predictions.push_back(is_right ? truth : (truth + 1) % classes);
    }
  }

  AccuracyIntervals intervals(std::int32_t old_classes,
                              const BootstrapOptions& options = {}) const {
    const Confusion confusion(predictions, truths);
    return accuracy_intervals(confusion, match_clusters(confusion), old_classes, options);
  }

  std::vector<std::int32_t> predictions, truths;
};

bool holds(const Interval& interval, double value) {
  return interval.low <= value && value <= interval.high;
}

TEST(Bootstrap, NineteenOfTwentyIntervalsHoldTheTruth) {
  constexpr int kDraws = 1500;
  int all = 0, of_old = 0, of_new = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const Simulated simulated(1000, 10, 6, 0.8, 0.6, std::uint64_t(draw));
    const AccuracyIntervals intervals = simulated.intervals(6);
    all += holds(intervals.all, 0.6 * 0.8 + 0.4 * 0.6);
    of_old += holds(intervals.old_classes, 0.8);
    of_new += holds(intervals.new_classes, 0.6);
  }
  // Expected are 0.95; such a share has a deviation of 0.006.
  for (const int held : {all, of_old, of_new}) {
    EXPECT_GT(held, 0.93 * kDraws);
    EXPECT_LT(held, 0.97 * kDraws);
  }
}

TEST(Bootstrap, IsAsWideAsTheBinomialFormula) {
  const Simulated simulated(45000, 100, 80, 0.82, 0.78, 3);
  const AccuracyIntervals intervals = simulated.intervals(80, {.resamples = 20000});
  const Confusion confusion(simulated.predictions, simulated.truths);
  const Accuracy accuracy = clustering_accuracy(confusion, match_clusters(confusion), 80);
  const auto expect_width = [](const Interval& interval, double share, double images) {
    const double width = 2 * 1.959964 * std::sqrt(share * (1 - share) / images);
    EXPECT_NEAR((interval.high - interval.low) / width, 1, 0.03);
    EXPECT_NEAR((interval.high + interval.low) / 2, share, 0.05 * width);
  };
  expect_width(intervals.all, accuracy.all, 45000);
  expect_width(intervals.old_classes, accuracy.old_classes, 36000);
  expect_width(intervals.new_classes, accuracy.new_classes, 9000);
}

TEST(Bootstrap, HasTheSameBitsAgainAndOthersByAnotherSeed) {
  const Simulated simulated(500, 5, 3, 0.7, 0.5, 1);
  const AccuracyIntervals first = simulated.intervals(3), again = simulated.intervals(3);
  EXPECT_EQ(first.all.low, again.all.low);
  EXPECT_EQ(first.new_classes.high, again.new_classes.high);
  bool differs = false;
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const Interval other = simulated.intervals(3, {.seed = seed}).new_classes;
    differs = differs || other.low != first.new_classes.low || other.high != first.new_classes.high;
  }
  EXPECT_TRUE(differs);
}

TEST(Bootstrap, OfOneImageSaysWhatItIs) {
  const std::vector<std::int32_t> right = {0};
  const Confusion confusion(right, right);
  const AccuracyIntervals intervals = accuracy_intervals(confusion, match_clusters(confusion), 1);
  EXPECT_EQ(intervals.all.low, 1);
  EXPECT_EQ(intervals.old_classes.high, 1);
  EXPECT_TRUE(std::isnan(intervals.new_classes.low));
}

TEST(Bootstrap, OfRightImagesAloneIsAPoint) {
  const AccuracyIntervals intervals = Simulated(300, 4, 2, 1, 1, 0).intervals(2);
  for (const Interval& interval : {intervals.all, intervals.old_classes, intervals.new_classes}) {
    EXPECT_EQ(interval.low, 1);
    EXPECT_EQ(interval.high, 1);
  }
}

TEST(Bootstrap, WithoutOldImagesThereIsNoIntervalOfThem) {
  const AccuracyIntervals intervals = Simulated(300, 4, 0, 0, 0.7, 0).intervals(0);
  EXPECT_TRUE(std::isnan(intervals.old_classes.low));
  EXPECT_TRUE(std::isnan(intervals.old_classes.high));
  EXPECT_EQ(intervals.all.low, intervals.new_classes.low);
  EXPECT_LT(intervals.all.low, intervals.all.high);
}

TEST(Bootstrap, WithoutImagesThereIsNone) {
  const Confusion confusion({}, {});
  EXPECT_TRUE(std::isnan(accuracy_intervals(confusion, match_clusters(confusion), 2).all.low));
}

}  // namespace
}  // namespace protogcd
