#include "protogcd/engine/kept_views.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace protogcd {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kSteps = 3;  // of an epoch

/// Tokens that say of which step they are; counts what was asked of it.
class CountedViews : public ViewSource {
 public:
  explicit CountedViews(std::vector<int>& computed) : computed_(computed) {}

  void start_epoch(std::uint32_t epoch, std::size_t first_step) override {
    next_ = static_cast<int>(epoch * kSteps + first_step);
  }
  void advance() override {
    computed_.push_back(next_);
    current_ = {.normalised = at::full({2, 3}, next_, at::kFloat), .class_token = {}, .raw = {}};
    ++next_;
  }
  TrunkTokens tokens() override { return current_; }

 private:
  std::vector<int>& computed_;
  int next_ = -1;
  TrunkTokens current_;
};

constexpr std::uint64_t kStepBytes = 2 * 3 * sizeof(float);

struct Trainings {
  explicit Trainings(std::uint64_t room) : kept(std::make_shared<KeptTokens>(room)) {}

  /// What a training sees in two epochs.
  std::vector<int> seen(std::size_t first_step = 0, std::uint64_t seed = 7) {
    KeptViews views(std::make_unique<CountedViews>(computed), kept, seed);
    std::vector<int> steps;
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
      views.start_epoch(epoch, first_step);
      for (std::size_t step = first_step; step < kSteps; ++step)
        steps.push_back(views.next().normalised[0][0].item<int>());
    }
    return steps;
  }

  std::vector<int> computed;
  std::shared_ptr<KeptTokens> kept;
};

TEST(KeptViews, ASecondTrainingSeesTheSameAndComputesNothing) {
  Trainings trainings(100 * kStepBytes);
  EXPECT_THAT(trainings.seen(), ElementsAre(0, 1, 2, 3, 4, 5));
  trainings.computed.clear();
  EXPECT_THAT(trainings.seen(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(trainings.computed, ElementsAre());
}

TEST(KeptViews, WhatHasNoRoomIsComputedAgain) {
  Trainings trainings(2 * kStepBytes);
  EXPECT_THAT(trainings.seen(), ElementsAre(0, 1, 2, 3, 4, 5));
  trainings.computed.clear();
  EXPECT_THAT(trainings.seen(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(trainings.computed, ElementsAre(2, 3, 4, 5));
}

TEST(KeptViews, ComputesTheStepsThatATrainingFromTheMiddleHasLeftOut) {
  Trainings trainings(100 * kStepBytes);
  EXPECT_THAT(trainings.seen(1), ElementsAre(1, 2, 4, 5));
  trainings.computed.clear();
  EXPECT_THAT(trainings.seen(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(trainings.computed, ElementsAre(0, 3));
}

TEST(KeptViews, AnotherSeedSeesItsOwn) {
  Trainings trainings(100 * kStepBytes);
  trainings.seen(0, 7);
  trainings.computed.clear();
  trainings.seen(0, 8);
  EXPECT_THAT(trainings.computed, ElementsAre(0, 1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace protogcd
