#include "protogcd/data/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

TEST(Sampler, HalfOfTheDrawsAreLabelledWhateverTheSizes) {
  const Sampler sampler(100, 9900, 7);
  constexpr int kDraws = 100'000;
  int labelled = 0;
  for (int i = 0; i < kDraws; ++i) labelled += sampler.is_labelled(sampler.draw(0, i)) ? 1 : 0;
  // Five standard deviations of a fair coin.
  EXPECT_NEAR(labelled, kDraws / 2, 5 * std::sqrt(kDraws / 4.0));
}

TEST(Sampler, IsUniformWithinEachSet) {
  constexpr std::size_t kLabelled = 10, kUnlabelled = 30;
  constexpr int kDraws = 120'000;
  const Sampler sampler(kLabelled, kUnlabelled, 3);
  std::vector<double> counts(kLabelled + kUnlabelled);
  for (int i = 0; i < kDraws; ++i) ++counts.at(sampler.draw(2, i));
  double chi_square = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = kDraws / 2.0 / (i < kLabelled ? kLabelled : kUnlabelled);
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 39 + 5 * std::sqrt(2 * 39.0));
  EXPECT_GT(chi_square, 39 - 4 * std::sqrt(2 * 39.0));
}

TEST(Sampler, ImagesInAnotherOrderAreDrawnByTheSameDraws) {
  Sampler sampler(2, 2, 5);
  const Sampler plain(2, 2, 5);
  sampler.set_images({3, 0, 2, 1});
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(sampler.draw(1, i), plain.draw(1, i));
    EXPECT_EQ(plain.draw_image(1, i), plain.draw(1, i));
    const std::size_t expected[] = {3, 0, 2, 1};
    EXPECT_EQ(sampler.draw_image(1, i), expected[sampler.draw(1, i)]);
  }
}

TEST(Sampler, DrawsWithReplacement) {
  const Sampler sampler(5000, 5000, 1);
  std::vector<bool> seen(10000);
  int distinct = 0;
  for (std::size_t i = 0; i < sampler.batches_per_epoch() * sampler.batch_size(); ++i) {
    const std::size_t sample = sampler.draw(0, i);
    distinct += seen[sample] ? 0 : 1;
    seen[sample] = true;
  }
  EXPECT_NEAR(distinct, 10000 * (1 - std::exp(-1)), 200);
}

TEST(Sampler, ADrawDependsOnSeedEpochAndPositionAlone) {
  const Sampler first(50, 70, 9), second(50, 70, 9), other(50, 70, 10);
  int same_epoch = 0, same_seed = 0;
  for (int i = 99; i >= 0; --i) {
    EXPECT_EQ(first.draw(4, i), second.draw(4, i));
    same_epoch += first.draw(4, i) == first.draw(5, i) ? 1 : 0;
    same_seed += first.draw(4, i) == other.draw(4, i) ? 1 : 0;
  }
  EXPECT_LT(same_epoch, 20);
  EXPECT_LT(same_seed, 20);
}

TEST(Sampler, CountsBatchesAsTheReferenceDoes) {
  EXPECT_EQ(Sampler(12500, 37500, 0).batches_per_epoch(), 390u);
  EXPECT_EQ(Sampler(31860, 95255, 0).batches_per_epoch(), 993u);
  EXPECT_EQ(Sampler(1498, 4496, 0).batches_per_epoch(), 46u);
  EXPECT_EQ(Sampler(2000, 6144, 0).batches_per_epoch(), 63u);
  EXPECT_EQ(Sampler(1666, 5001, 0).batches_per_epoch(), 52u);
  EXPECT_EQ(Sampler(8869, 25356, 0).batches_per_epoch(), 267u);
  const Sampler tiny(3, 4, 0);
  EXPECT_EQ(tiny.batch_size(), 7u);
  EXPECT_EQ(tiny.batches_per_epoch(), 1u);
}

TEST(Sampler, AnEmptySetIsNeverDrawnFrom) {
  const Sampler labelled_only(5, 0, 0), unlabelled_only(0, 5, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(labelled_only.draw(0, i), 5u);
    EXPECT_LT(unlabelled_only.draw(0, i), 5u);
    EXPECT_FALSE(unlabelled_only.is_labelled(unlabelled_only.draw(0, i)));
  }
  EXPECT_THROW(Sampler(0, 0, 0), DataError);
}

TEST(Sampler, ABatchOfSomeSamplesMayBeLargerThanTheyAre) {
  const Sampler sampler(3, {1, 2, 6}, 5, /*batch_size=*/8, /*batches=*/4);
  EXPECT_EQ(sampler.batch_size(), 8u);
  EXPECT_EQ(sampler.batches_per_epoch(), 4u);
  for (int i = 0; i < 32; ++i) {
    const std::size_t drawn = sampler.draw(0, i);
    EXPECT_TRUE(drawn == 1 || drawn == 2 || drawn == 6) << drawn;
  }
}

TEST(Sampler, DrawsThatSomebodyElseDecidedAreTaken) {
  Sampler sampler(3, 5, 1, 2);
  const std::size_t by_chance = sampler.draw(0, 1);
  sampler.set_draws({7, 6, 0, 2});
  EXPECT_EQ(sampler.draw(0, 0), 7u);
  EXPECT_EQ(sampler.draw(0, 3), 2u);
  EXPECT_TRUE(sampler.is_labelled(sampler.draw(0, 2)));
  sampler.set_draws({});
  EXPECT_EQ(sampler.draw(0, 1), by_chance);
}

TEST(Sampler, ProcessesTakeTheRowsOfOneBatchAmongThem) {
  const Sampler alone(20, 30, 7, 12);
  EXPECT_EQ(alone.rows(), 12u);
  EXPECT_EQ(alone.position(3, 5), 3 * 12 + 5u);
  for (const std::size_t size : {2u, 3u}) {
    std::vector<std::uint64_t> positions;
    for (std::size_t rank = 0; rank < size; ++rank) {
      Sampler part = alone;
      part.share(rank, size);
      EXPECT_EQ(part.batch_size(), 12u);
      EXPECT_EQ(part.batches_per_epoch(), alone.batches_per_epoch());
      for (std::size_t row = 0; row < part.rows(); ++row) {
        positions.push_back(part.position(1, row));
        EXPECT_EQ(part.draw(2, positions.back()), alone.draw(2, positions.back()));
      }
    }
    std::vector<std::uint64_t> expected(12);
    std::iota(expected.begin(), expected.end(), 12u);
    EXPECT_EQ(positions, expected);
  }
  Sampler part = alone;
  EXPECT_THROW(part.share(0, 5), UsageError);
}

}  // namespace
}  // namespace protogcd
