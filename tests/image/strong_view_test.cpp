// What strong views are drawn by: crops, jitter, RandAugment's list and the recipes.
#include "protogcd/image/strong_view.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <set>
#include <span>

#include "protogcd/image/colour.h"
#include "protogcd/image/rand_augment.h"
#include "protogcd/image/transform.h"
#include "tests/image/image_helpers.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;

RandomStream stream_of(std::uint64_t position) {
  return RandomStream({.seed = 4, .purpose = RandomPurpose::kTest, .position = position});
}

Image view_of(const Image& image, int side, const StrongViewOptions& options,
              std::uint64_t position) {
  StrongViewMaker maker;
  Image view;
  RandomStream random = stream_of(position);
  maker.make(image, side, options, random, view);
  return view;
}

TEST(ResizedCrop, AreaAndRatioAreUniformWithinTheirRanges) {
  double area_sum = 0, ratio_sum = 0;
  int count = 0, wide = 0, left = 0;
  for (std::uint64_t i = 0; i < 8000; ++i) {
    RandomStream random = stream_of(i);
    const ImageBox box = draw_resized_crop({600, 600}, 0.1, random);
    ASSERT_TRUE(box.left >= 0 && box.top >= 0 && box.right() <= 600 && box.bottom() <= 600);
    const double area = box.width * box.height / 360000.0,
                 ratio = std::log(static_cast<double>(box.width) / box.height);
    EXPECT_GT(area, 0.099);
    EXPECT_LT(std::abs(ratio), std::log(4.0 / 3) + 0.01);
    if (area > 0.5) continue;  // above, not every ratio fits, and some areas are drawn again
    area_sum += area;
    ratio_sum += ratio;
    wide += std::abs(ratio) > std::log(4.0 / 3) / 2 ? 1 : 0;
    left += box.left < (600 - box.width) / 2 ? 1 : 0;
    ++count;
  }
  EXPECT_GT(count, 3000);
  EXPECT_NEAR(area_sum / count, 0.3, 0.01);
  EXPECT_NEAR(ratio_sum / count, 0, 0.01);
  EXPECT_NEAR(wide, count / 2.0, 0.04 * count);
  EXPECT_NEAR(left, count / 2.0, 0.04 * count);
}

TEST(ResizedCrop, WhereNothingFitsItIsTheLargestInTheMiddle) {
  RandomStream random = stream_of(0);
  EXPECT_EQ(draw_resized_crop({300, 30}, 1, random), (ImageBox{130, 0, 40, 30}));
  EXPECT_EQ(draw_resized_crop({30, 300}, 1, random), (ImageBox{0, 130, 30, 40}));
  // A whole image of an allowed ratio: the drawn ratio almost never is its own.
  EXPECT_EQ(draw_resized_crop({400, 310}, 1, random), (ImageBox{0, 0, 400, 310}));
}

TEST(Jitter, TheWholeRangeComesUp) {
  std::set<int> values;
  for (std::uint64_t i = 0; i < 300; ++i) {
    Image image(1, 1);
    image.pixels = {100, 100, 100};
    RandomStream random = stream_of(i);
    jitter_colours(image, {.contrast = 0, .saturation = 0, .hue = 0}, random);
    values.insert(image.pixels[0]);
  }
  EXPECT_GE(*values.begin(), 60);
  EXPECT_LT(*values.begin(), 64);
  EXPECT_LE(*values.rbegin(), 140);
  EXPECT_GT(*values.rbegin(), 136);
}

TEST(Jitter, IsTheFourChangesInTheOrderThatIsDrawnFirst) {
  const Image image = random_image(9, 7, 5);
  std::set<std::array<int, 4>> orders;
  for (std::uint64_t i = 0; i < 300; ++i) {
    RandomStream random = stream_of(i), same = stream_of(i);
    Image changed = image, expected = image;
    jitter_colours(changed, {}, random);
    std::array<int, 4> order = {0, 1, 2, 3};
    shuffle(std::span<int>(order), same);
    orders.insert(order);
    const double brightness = same.uniform(0.6, 1.4), contrast = same.uniform(0.6, 1.4),
                 saturation = same.uniform(0.8, 1.2), hue = same.uniform(-0.1, 0.1);
    for (const int change : order) {
      if (change == 0) change_brightness(expected, brightness);
      if (change == 1) change_contrast(expected, contrast);
      if (change == 2) change_saturation(expected, saturation);
      if (change == 3) change_hue(expected, hue);
    }
    ASSERT_EQ(changed, expected);
  }
  EXPECT_EQ(orders.size(), 24u);
}

TEST(RandAugment, EveryOperationComesUpInBothDirections) {
  Image image = random_image(40, 30, 1);
  for (auto& value : image.pixels) value = static_cast<std::uint8_t>(40 + value * 3 / 4);
  std::set<std::vector<std::uint8_t>> results;
  for (std::uint64_t i = 0; i < 600; ++i) {
    Image changed = image;
    RandomStream random = stream_of(i);
    rand_augment(changed, 1, 9, random);
    results.insert(changed.pixels);
  }
  // Identity, 9 operations in two directions, 4 in one.
  EXPECT_EQ(results.size(), 1u + 2 * 9 + 4);
}

TEST(StrongView, IsAFunctionOfTheStreamAlone) {
  const Image image = random_image(64, 50, 2);
  for (const StrongRecipe recipe :
       {StrongRecipe::kJitter, StrongRecipe::kRandAugment, StrongRecipe::kCrop}) {
    const StrongViewOptions options{.recipe = recipe};
    EXPECT_EQ(view_of(image, 32, options, 7), view_of(image, 32, options, 7));
    EXPECT_NE(view_of(image, 32, options, 7), view_of(image, 32, options, 8));
    EXPECT_EQ(view_of(image, 32, options, 7).size(), (ImageSize{32, 32}));
  }
}

TEST(StrongView, ACropOfTheWholeImageIsItOrItsMirrorImage) {
  const Image image = random_image(24, 24, 3);
  std::vector<std::uint8_t> mirrored(image.pixels.size());
  copy_window(image, {0, 0, 24, 24}, true, mirrored);
  int flips = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    // With an area of 1 no ratio but 1 fits: all of it.
    const Image view = view_of(image, 24, {.recipe = StrongRecipe::kCrop, .least_area = 1}, i);
    const bool flip = view.pixels == mirrored;
    ASSERT_TRUE(flip || view == image);
    flips += flip ? 1 : 0;
  }
  EXPECT_NEAR(flips, 200, 40);
}

TEST(StrongView, ProbabilitiesAreThoseOfTheOptions) {
  const Image image = random_image(24, 24, 3);
  const StrongViewOptions plain{.least_area = 1, .jitter = 0, .grey = 0, .blur = 0, .solarise = 0};
  const auto changed_by = [&](double StrongViewOptions::*share, double probability) {
    int count = 0;
    for (std::uint64_t i = 0; i < 400; ++i) {
      StrongViewOptions options = plain;
      options.*share = probability;
      count += view_of(image, 24, options, i) != view_of(image, 24, plain, i) ? 1 : 0;
    }
    return count;
  };
  for (const auto share : {&StrongViewOptions::jitter, &StrongViewOptions::grey,
                           &StrongViewOptions::blur, &StrongViewOptions::solarise}) {
    EXPECT_EQ(changed_by(share, 0), 0);
    EXPECT_NEAR(changed_by(share, 0.25), 100, 35);
    EXPECT_GE(changed_by(share, 1), 396);  // a blur of 0.1 pixels may change nothing
  }
  StrongViewOptions options = plain;
  options.solarise = 1;
  Image solarised = view_of(image, 24, plain, 3);
  solarise(solarised, 128);
  EXPECT_EQ(view_of(image, 24, options, 3), solarised);
}

TEST(StrongView, WordsNameWhatTheRecipeDependsOn) {
  EXPECT_EQ(in_words({}),
            "jitter, area from 0.2, colours 0.4 0.4 0.2 0.1 in 0.8, grey 0.2, blur 0.5, "
            "solarised 0.2");
  EXPECT_EQ(in_words({.recipe = StrongRecipe::kRandAugment}),
            "randaugment, area from 0.2, 2 operations of strength 9");
  EXPECT_EQ(in_words({.recipe = StrongRecipe::kCrop, .grey = 1}), "crop, area from 0.2");
}

}  // namespace
}  // namespace protogcd
