// Counting classes by nearest neighbours, on clouds of points whose number is known.
#include "protogcd/discovery/neighbour_count.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/discovery/class_number_search.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

constexpr std::int64_t kWidth = 24;

/// Classes of given sizes as clouds on the sphere; of the first ones so many rows are labelled.
struct Task {
  at::Tensor labelled, labels, unlabelled;

  Task(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& labels_of,
       double noise, std::uint64_t seed = 1) {
    at::manual_seed(seed);
    std::vector<at::Tensor> with, without, numbers;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      const std::int64_t marked = c < labels_of.size() ? labels_of[c] : 0;
      const at::Tensor rows =
          unit_rows(at::randn({kWidth}) + noise * at::randn({sizes[c], kWidth}));
      with.push_back(rows.narrow(0, 0, marked));
      without.push_back(rows.narrow(0, marked, sizes[c] - marked));
      numbers.push_back(at::full({marked}, static_cast<std::int64_t>(c), at::kLong));
    }
    labelled = at::cat(with);
    labels = at::cat(numbers);
    unlabelled = at::cat(without);
  }

  std::optional<NeighbourCount> count() const {
    return count_by_neighbours(labelled, labels, unlabelled);
  }
};

std::vector<std::int64_t> repeated(std::int64_t value, std::size_t times) {
  return std::vector<std::int64_t>(times, value);
}

TEST(NeighbourCount, FindsHowManyClassesThereAreWhateverShareOfThemIsOld) {
  for (const std::size_t classes : {12U, 20U, 40U}) {
    for (const std::size_t old : {6U, 10U}) {
      const auto found = Task(repeated(40, classes), repeated(20, old), 0.5).count();
      ASSERT_TRUE(found);
      const auto truth = static_cast<double>(classes);
      EXPECT_NEAR(found->k, truth, 0.08 * truth) << classes << " classes, " << old << " old";
      EXPECT_NEAR(found->class_size, 40, 4);
      EXPECT_NEAR(found->labelled_share, 0.5, 0.05);
      EXPECT_GT(found->purity, 0.9);
    }
  }
}

TEST(NeighbourCount, DoesSoWhereClassesOverlap) {
  double error = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto found = Task(repeated(40, 40), repeated(20, 20), 1.2, seed).count();
    EXPECT_LT(found->purity, 0.8) << "a neighbour in five is of another class";
    EXPECT_NEAR(std::log(found->k / 40), 0, found->log_margin(3)) << "seed " << seed;
    error += std::log(found->k / 40) / 8;
  }
  EXPECT_NEAR(error, 0, 0.06) << "neither too many nor too few on average";
}

TEST(NeighbourCount, TakesFewLabelsAndThenSaysThatItMayBeFarOff) {
  const auto many = Task(repeated(60, 20), repeated(30, 10), 0.8).count(),
             few = Task(repeated(60, 20), {3, 8, 5, 6, 4, 7, 5, 9, 2, 6}, 0.8).count();
  EXPECT_NEAR(few->k, 20, 8);
  EXPECT_GT(few->log_error, 2 * many->log_error);
}

TEST(NeighbourCount, AllClassesLabelledMeansNoNewOnes) {
  EXPECT_NEAR(Task(repeated(40, 10), repeated(20, 10), 0.5).count()->k, 10, 0.5);
}

TEST(NeighbourCount, EqualNumbersOfLabelsOfUnequalClassesAreDoubted) {
  const std::vector<std::int64_t> sizes = {30, 40, 60, 80, 120, 160, 240, 320, 30, 40, 60, 80, 120};
  const auto uneven = Task(sizes, repeated(20, 8), 0.5).count(),
             even = Task(repeated(100, 13), repeated(20, 8), 0.5).count();
  EXPECT_GT(uneven->size_doubt, 0.3);
  EXPECT_LT(even->size_doubt, 0.2) << "what chance makes of few labels is not all taken off";
  EXPECT_LT(Task(repeated(150, 13), repeated(75, 8), 0.5).count()->size_doubt, 0.02) << "many";
}

TEST(NeighbourCount, ClassesOfUnequalSizesAreSeenByTheirLabels) {
  const std::vector<std::int64_t> sizes = {20, 30, 40, 60, 80, 120, 160, 240, 20, 30, 40, 60, 80};
  EXPECT_GT(Task(sizes, {10, 15, 20, 30, 40, 60, 80, 120}, 0.5).count()->size_spread, 0.5);
  EXPECT_EQ(Task(repeated(60, 13), {28, 31, 35, 27, 30, 33, 26, 30}, 0.5).count()->size_spread, 0)
      << "no more than chance";
}

TEST(NeighbourCount, NoiseKeepsNothingApartAndIsFarFromSure) {
  const auto found = Task(repeated(40, 20), repeated(20, 10), 100).count();
  ASSERT_TRUE(found);
  EXPECT_LT(found->purity, 0.15);
}

TEST(NeighbourCount, FewOldClassesWidenTheMargin) {
  const NeighbourCount few{.log_error = 0.1, .old_classes = 2},
      many{.log_error = 0.1, .old_classes = 1000};
  EXPECT_NEAR(many.log_margin(1.2816), 0.12816, 1e-3);
  EXPECT_GT(few.log_margin(1.2816), 2 * many.log_margin(1.2816)) << "Student's: 3.08";
}

TEST(LikelyNumbers, WordsAndIntervalFollowTheError) {
  NeighbourCount found{.k = 100, .log_error = 0.03, .purity = 0.7, .old_classes = 50};
  ClassNumberPeak peak = likely_numbers(found, 400);
  EXPECT_EQ(peak.k, 100);
  EXPECT_EQ(peak.sureness, Sureness::kSure);
  EXPECT_NEAR(static_cast<double>(peak.low), 100 / std::exp(1.2816 * 0.03), 1.5);
  EXPECT_NEAR(static_cast<double>(peak.high), 100 * std::exp(1.2816 * 0.03), 1.5);
  found.log_error = 0.1;
  EXPECT_EQ(likely_numbers(found, 400).sureness, Sureness::kFairly);
  found.log_error = 0.3;
  EXPECT_EQ(likely_numbers(found, 400).sureness, Sureness::kUnsure);
}

TEST(LikelyNumbers, AreUnsureWhereSizesOrTheBackboneAreDoubtful) {
  const NeighbourCount sure{.k = 100, .log_error = 0.03, .purity = 0.7, .old_classes = 50};
  NeighbourCount found = sure;
  found.purity = 0.3;
  EXPECT_EQ(likely_numbers(found, 400).sureness, Sureness::kUnsure);
  found.purity = 0.05;
  EXPECT_EQ(likely_numbers(found, 400).low, 50) << "any number may do";
  EXPECT_EQ(likely_numbers(found, 400).high, 400);
  found = sure;
  found.size_spread = 0.5;
  EXPECT_EQ(likely_numbers(found, 400).sureness, Sureness::kUnsure);
  EXPECT_GT(likely_numbers(found, 400).high, 150);
  found = sure;
  found.size_doubt = 0.5;
  EXPECT_EQ(likely_numbers(found, 400).sureness, Sureness::kUnsure);
  EXPECT_LT(likely_numbers(found, 400).low, 70);
}

TEST(LikelyNumbers, StayBetweenTheOldClassesAndTheLargest) {
  NeighbourCount found{.k = 1e9, .log_error = 1e6, .purity = 0.7, .old_classes = 5};
  const ClassNumberPeak peak = likely_numbers(found, 40);
  EXPECT_EQ(peak.k, 40);
  EXPECT_EQ(peak.low, 5);
  EXPECT_EQ(peak.high, 40);
}

TEST(NeighbourCount, SaysNothingOfOneOldClassOrOneLabelEach) {
  EXPECT_FALSE(Task(repeated(40, 5), repeated(20, 1), 0.5).count());
  EXPECT_FALSE(Task(repeated(40, 5), repeated(1, 3), 0.5).count());
  EXPECT_FALSE(Task(repeated(40, 5), {}, 0.5).count());
}

TEST(NeighbourCount, FeaturesThatAreNoNumbersAreAnError) {
  Task task(repeated(10, 4), repeated(5, 2), 0.5);
  task.unlabelled[3][0] = std::nan("");
  EXPECT_THROW(task.count(), DataError);
}

TEST(NeighbourCount, StopsWhenAsked) {
  const Task task(repeated(10, 4), repeated(5, 2), 0.5);
  const StopToken stop;
  stop.request_stop();
  EXPECT_THROW(count_by_neighbours(task.labelled, task.labels, task.unlabelled, stop),
               InterruptedError);
}

}  // namespace
}  // namespace protogcd
