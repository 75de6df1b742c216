#include "protogcd/core/numpy_random.h"

#include <gmock/gmock.h>

#include <numeric>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

TEST(NumpyRandom, PermutationIsNumpys) {
  EXPECT_THAT(NumpyRandom(0).permutation(10), ElementsAre(2, 8, 4, 9, 1, 6, 7, 3, 0, 5));
}

struct ChoiceCase {
  std::size_t count, size;
  std::vector<std::size_t> head;
  std::size_t sum;
};

// numpy.random.seed(0); numpy.random.choice(range(count), size, replace=False)
TEST(NumpyRandom, ChoiceIsNumpysForTheSizesOfTheDatasets) {
  const ChoiceCase cases[] = {
      {1000, 500, {993, 859, 298, 553, 672, 971, 27, 231}, 249412},
      {25000, 12500, {14149, 8946, 22378, 12162, 4879, 12710, 24595, 308}, 156100160},
      {40000, 20000, {12836, 10913, 4214, 8198, 31403, 13917, 27440, 11667}, 400327901},
      {63720, 31860, {16563, 13750, 15328, 17120, 53706, 37066, 5372, 20686}, 1015724201},
  };
  for (const auto& expected : cases) {
    const auto chosen = NumpyRandom(0).choice(expected.count, expected.size);
    ASSERT_EQ(chosen.size(), expected.size);
    EXPECT_THAT(std::vector(chosen.begin(), chosen.begin() + 8), ElementsAreArray(expected.head));
    EXPECT_EQ(std::accumulate(chosen.begin(), chosen.end(), std::size_t{0}), expected.sum);
  }
}

TEST(NumpyRandom, SmallCountsAreDefined) {
  EXPECT_TRUE(NumpyRandom(0).permutation(0).empty());
  EXPECT_THAT(NumpyRandom(0).permutation(1), ElementsAre(0));
  EXPECT_THROW(NumpyRandom(0).choice(3, 4), InternalError);
}

}  // namespace
}  // namespace protogcd
