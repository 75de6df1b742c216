// The choice among starts, and what classes keep from one training to another.
#include "protogcd/discovery/starts.h"

#include <gmock/gmock.h>

#include "protogcd/core/json.h"

namespace protogcd {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Optional;

TEST(Starts, TheSurestHasTheLeastDoubt) {
  EXPECT_EQ((Starts{.classes = {{}, {}, {}}, .doubt = {0.4, 0.1, 0.3}}).surest(), 1u);
}

TEST(Starts, ClassesThatOtherTrainingsFindAgainAreStable) {
  // The run began with the first and found its classes again: that says nothing. Class 0 is the
  // same in both others, under other names; class 1 is split in one of them.
  const Starts starts{.classes = {{0, 0, 1, 1, 1, 1}, {2, 2, 0, 0, 0, 0}, {1, 1, 0, 0, 2, 2}},
                      .doubt = {0.1, 0.2, 0.3}};
  const auto stability = class_stability(starts, {0, 0, 1, 1, 1, 1}, 3);
  EXPECT_THAT(stability,
              ElementsAre(Optional(DoubleNear(1, 1e-12)), Optional(DoubleNear(0.75, 1e-12)),
                          std::nullopt));  // no image, nothing to say
}

TEST(Starts, WithoutThemThereIsNoStability) {
  EXPECT_TRUE(class_stability({}, {0, 1}, 2).empty());
}

/// The beginnings had five classes, of which the run has dropped three.
TEST(ClassStability, CountsClassesOfBeginningsThatTheRunHasDropped) {
  const Starts starts{.classes = {{0, 0, 4, 4}, {0, 0, 4, 4}, {1, 1, 4, 3}}, .doubt = {1, 2, 3}};
  const auto stability = class_stability(starts, {0, 0, 1, 1}, 2);
  EXPECT_DOUBLE_EQ(*stability[0], 1);
  EXPECT_DOUBLE_EQ(*stability[1], 0.75);
}

TEST(Starts, AreReadAsTheyWereWritten) {
  const Starts starts{.classes = {{2, 0}, {1, 1}}, .doubt = {0.5, 0.25}};
  const Starts back = Starts::from_json(starts.to_json());
  EXPECT_EQ(back.classes, starts.classes);
  EXPECT_EQ(back.doubt, starts.doubt);
}

}  // namespace
}  // namespace protogcd
