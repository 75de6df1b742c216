#include "protogcd/core/random.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;

// The known-answer vectors of the Random123 distribution for philox4x32, 10 rounds.
TEST(Philox, MatchesTheRandom123Vectors) {
  EXPECT_THAT(philox4x32_10({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_THAT(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RandomStream, EveryPartOfTheKeyGivesAnotherStream) {
  const RandomKey base{
      .seed = 7, .purpose = RandomPurpose::kAugment, .epoch = 3, .position = 11, .view = 1};
  std::vector<RandomKey> keys(8, base);
  keys[1].seed = 8;
  keys[2].seed += std::uint64_t{1} << 32;
  keys[3].purpose = RandomPurpose::kSampler;
  keys[4].epoch = 4;
  keys[5].position = 12;
  keys[6].position += std::uint64_t{1} << 32;
  keys[7].view = 0;
  std::set<std::uint64_t> first_values;
  for (const auto& key : keys) first_values.insert(RandomStream(key).next_long());
  EXPECT_EQ(first_values.size(), keys.size());
  EXPECT_EQ(RandomStream(base).next_long(), RandomStream(keys[0]).next_long());
}

TEST(RandomStream, RefusesAPositionThatWouldCollide) {
  EXPECT_THROW(RandomStream({.position = std::uint64_t{1} << 48}), InternalError);
}

TEST(RandomStream, BelowIsUniformAndStaysBelow) {
  RandomStream stream({.seed = 1});
  std::map<std::uint64_t, int> counts;
  constexpr int kDraws = 60000, kBound = 6;
  for (int i = 0; i < kDraws; ++i) ++counts[stream.below(kBound)];
  ASSERT_EQ(counts.size(), kBound);
  EXPECT_EQ(counts.rbegin()->first, kBound - 1);
  for (const auto& [value, count] : counts) {
    EXPECT_NEAR(count, kDraws / kBound, 5 * std::sqrt(kDraws / kBound)) << value;
  }
  EXPECT_EQ(stream.below(1), 0u);
  EXPECT_THROW(stream.below(0), InternalError);
  for (int i = 0; i < 100; ++i) EXPECT_GE(stream.between(-3, -1), -3);
}

TEST(RandomStream, UniformAndNormalHaveTheirMoments) {
  RandomStream stream({.seed = 2});
  constexpr int kDraws = 100000;
  double sum = 0, normal_sum = 0, normal_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = stream.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    const double normal = stream.normal();
    normal_sum += normal;
    normal_squares += normal * normal;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_NEAR(normal_sum / kDraws, 0, 0.016);
  EXPECT_NEAR(normal_squares / kDraws, 1, 0.025);
}

TEST(RandomStream, ShuffleKeepsEveryItem) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  RandomStream stream({.seed = 3});
  shuffle(std::span(items), stream);
  EXPECT_FALSE(std::is_sorted(items.begin(), items.end()));
  EXPECT_EQ(std::set<int>(items.begin(), items.end()).size(), 100u);
}

}  // namespace
}  // namespace protogcd
