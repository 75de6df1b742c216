// What chance decides, and what is done to pixels.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <set>

#include "protogcd/core/error.h"
#include "protogcd/pretrain/augment.h"
#include "protogcd/pretrain/step_draws.h"

namespace protogcd {
namespace {

DrawOptions options(std::uint64_t seed) {
  return {.images = 10, .batch = 4, .views = 2, .numbers = 3, .seed = seed};
}

TEST(StepDraws, EveryImageIsDrawnOnceInAnEpoch) {
  StepDraws draws(options(1));
  std::vector<std::int64_t> drawn;
  for (std::int64_t step = 0; step < 50; ++step) {
    const at::Tensor rows = draws.at(step).rows;
    for (std::int64_t i = 0; i < 4; ++i) drawn.push_back(rows[i].item<std::int64_t>());
  }
  std::set<std::vector<std::int64_t>> orders;
  for (std::size_t epoch = 0; epoch < 20; ++epoch) {
    const auto begin = drawn.begin() + static_cast<std::ptrdiff_t>(10 * epoch);
    orders.emplace(begin, begin + 10);
    EXPECT_EQ(std::set<std::int64_t>(begin, begin + 10).size(), 10u) << epoch;
  }
  EXPECT_EQ(orders.size(), 20u) << "every epoch has an order of its own";
}

TEST(StepDraws, AStepsDrawsDependOnSeedAndStepAlone) {
  StepDraws straight(options(1)), resumed(options(1)), other(options(2));
  for (std::int64_t step = 0; step < 70; ++step) straight.at(step);
  for (const std::int64_t step : {69, 3, 40}) {
    const StepDraw a = straight.at(step), b = resumed.at(step), c = other.at(step);
    EXPECT_TRUE(a.rows.equal(b.rows));
    EXPECT_TRUE(a.numbers.equal(b.numbers));
    EXPECT_FALSE(a.numbers.equal(c.numbers));
    for (std::int64_t earlier = 0; earlier < step; ++earlier)
      EXPECT_FALSE(a.numbers.equal(straight.at(earlier).numbers)) << step << " as " << earlier;
  }
}

TEST(StepDraws, NumbersAreUniformAndDifferBetweenImagesAndViews) {
  StepDraws draws({.images = 10, .batch = 200, .views = 2, .numbers = 8, .seed = 1});
  const at::Tensor numbers = draws.at(5).numbers;
  ASSERT_EQ(numbers.sizes(), (at::IntArrayRef{400, 8}));
  EXPECT_GE(numbers.min().item<float>(), 0);
  EXPECT_LT(numbers.max().item<float>(), 1);
  EXPECT_NEAR(numbers.mean().item<float>(), 0.5, 0.03);
  EXPECT_EQ(std::get<0>(at::_unique(numbers.flatten())).size(0), 3200);
}

at::Tensor random_pixels(std::int64_t count) {
  at::manual_seed(2);
  return at::randint(256, {count, 3, 8, 8}, at::kByte);
}

ViewMaker maker(Augment augment) {
  return {augment, {}, at::kFloat, at::kCPU};
}

/// The same numbers for every image, but for some.
at::Tensor numbers(std::int64_t count) {
  return at::full({count, kAugmentNumbers}, 0.75F);
}

TEST(Augment, NoneIsTheNormalisedImage) {
  const at::Tensor pixels = random_pixels(2);
  const at::Tensor plain = maker(Augment::kNone).plain(pixels);
  EXPECT_NEAR(plain[1][2][3][4].item<double>(),
              (pixels[1][2][3][4].item<int>() / 255.0 - 0.406) / 0.225, 1e-5);
  EXPECT_TRUE(maker(Augment::kNone).augmented(pixels, numbers(2)).equal(plain));
}

TEST(Augment, FlipTurnsThoseThatTheirNumberSays) {
  const at::Tensor pixels = random_pixels(2), draws = numbers(2);
  draws[1][0] = 0.25F;
  const at::Tensor plain = maker(Augment::kNone).plain(pixels),
                   views = maker(Augment::kFlip).augmented(pixels, draws);
  EXPECT_TRUE(views[0].equal(plain[0]));
  EXPECT_TRUE(views[1].equal(plain[1].flip({2})));
}

TEST(Augment, CropShowsTheWindowItDrew) {
  // All of the image: area 1 (nearly), square, unflipped.
  const at::Tensor pixels = random_pixels(2), draws = numbers(2);
  draws.select(1, 1).fill_(1);
  draws.select(1, 2).fill_(0.5);
  const at::Tensor plain = maker(Augment::kNone).plain(pixels);
  EXPECT_TRUE(at::allclose(maker(Augment::kCrop).augmented(pixels, draws), plain, 1e-4, 1e-4));
  // Half of the area, at the left: of a horizontal ramp the left 0.707 is seen, and mirrored.
  const at::Tensor ramp =
      (at::arange(8) * 30).to(at::kByte).view({1, 1, 1, 8}).expand({2, 3, 8, 8});
  draws.select(1, 1).fill_(0);
  draws.select(1, 3).fill_(0);
  draws[1][0] = 0.25F;
  const at::Tensor view = maker(Augment::kCrop).augmented(ramp, draws),
                   whole = maker(Augment::kNone).plain(ramp);
  EXPECT_LT(view[0].max().item<double>(), whole.max().item<double>() * 0.75);
  EXPECT_TRUE(at::allclose(view[1], view[0].flip({2}), 1e-4, 1e-4));
}

TEST(Augment, ColourKeepsShapesAndChangesValues) {
  const at::Tensor pixels = random_pixels(1), draws = numbers(1);
  draws.select(1, 1).fill_(1);
  draws.select(1, 2).fill_(0.5);
  const at::Tensor plain = maker(Augment::kNone).plain(pixels);
  // 0.5 means no change of brightness, contrast and saturation.
  for (const std::int64_t which : {5, 6, 7}) draws.select(1, which).fill_(0.5);
  EXPECT_TRUE(at::allclose(maker(Augment::kColour).augmented(pixels, draws), plain, 1e-4, 1e-4));
  draws.select(1, 5).fill_(0);  // 0.6 of the brightness
  const at::Tensor darker = maker(Augment::kColour).augmented(pixels, draws);
  EXPECT_NEAR(darker[0][0][3][3].item<double>(),
              (0.6 * pixels[0][0][3][3].item<int>() / 255 - 0.485) / 0.229, 1e-3);
}

TEST(Augment, NamesAreThoseOfTheFlag) {
  EXPECT_EQ(parse_augment("crop"), Augment::kCrop);
  EXPECT_THROW(parse_augment("rotate"), UsageError);
}

}  // namespace
}  // namespace protogcd
