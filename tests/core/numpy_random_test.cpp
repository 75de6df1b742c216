// The published splits hang on these numbers.
#include "protogcd/core/numpy_random.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;

struct Golden {
  std::size_t count;
  std::vector<std::size_t> head;
  std::size_t sum;
};

std::string sorted_hash(std::size_t count) {
  auto chosen = NumpyRandom(0).choice(count, count / 2);
  std::ranges::sort(chosen);
  return sha256_hex(fmt::format("{}", join(chosen, ","))).substr(0, 16);
}

TEST(NumpyRandom, PermutesAsNumpyDoes) {
  EXPECT_THAT(NumpyRandom(0).permutation(10), ElementsAre(2, 8, 4, 9, 1, 6, 7, 3, 0, 5));
}

TEST(NumpyRandom, ChoosesAsNumpyDoes) {
  const std::vector<Golden> goldens = {
      {25000, {14149, 8946, 22378, 12162, 4879, 12710, 24595, 308}, 156100160},
      {40000, {12836, 10913, 4214, 8198, 31403, 13917, 27440, 11667}, 400327901},
      {63720, {16563, 13750, 15328, 17120, 53706, 37066, 5372, 20686}, 1015724201},
      {1000, {993, 859, 298, 553, 672, 971, 27, 231}, 249412}};
  for (const auto& golden : goldens) {
    const auto chosen = NumpyRandom(0).choice(golden.count, golden.count / 2);
    EXPECT_TRUE(std::equal(golden.head.begin(), golden.head.end(), chosen.begin()));
    EXPECT_EQ(std::accumulate(chosen.begin(), chosen.end(), std::size_t{0}), golden.sum);
  }
}

TEST(NumpyRandom, EverySplitHasItsPublishedChecksum) {
  EXPECT_EQ(sorted_hash(25000), "b8913eb7168d2f76");
  EXPECT_EQ(sorted_hash(40000), "22296eb740670fe0");
  EXPECT_EQ(sorted_hash(63720), "d9612f056761afb1");
  EXPECT_EQ(sorted_hash(2997), "73a42325d5dc4f49");
  EXPECT_EQ(sorted_hash(3333), "8cbb2bf24a7c6105");
  EXPECT_EQ(sorted_hash(4001), "598137db46d03544");
  EXPECT_EQ(sorted_hash(17738), "c7807c0ccd6eee7b");
}

TEST(NumpyRandom, SmallCountsAreDefined) {
  EXPECT_TRUE(NumpyRandom(0).permutation(0).empty());
  EXPECT_THAT(NumpyRandom(0).permutation(1), ElementsAre(0));
  EXPECT_THROW(NumpyRandom(0).choice(3, 4), InternalError);
}

}  // namespace
}  // namespace protogcd
