// What images look like at a glance, and which of a collection stand out as dark, blurred or tiny.
#include "protogcd/image/image_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protogcd/core/random.h"
#include "protogcd/image/resize.h"

namespace protogcd {
namespace {

using ::testing::IsEmpty;

constexpr int kCrop = 224, kSide = 256;

/// A few rectangles of plain colours on a plain ground: crisp edges, and little else to see.
Image drawing(std::uint64_t seed, int side = kSide, int rectangles = 6) {
  RandomStream random({.seed = seed});
  const auto draw = [&](int below) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(below)));
  };
  Image image(side, side);
  std::ranges::fill(image.pixels, static_cast<std::uint8_t>(100 + draw(100)));
  for (int i = 0; i < rectangles; ++i) {
    const int left = draw(side - 8), top = draw(side - 8), width = 4 + draw(side / 2),
              height = 4 + draw(side / 2);
    const std::uint8_t colour[] = {static_cast<std::uint8_t>(draw(256)),
                                   static_cast<std::uint8_t>(draw(256)),
                                   static_cast<std::uint8_t>(draw(256))};
    for (int y = top; y < std::min(side, top + height); ++y)
      for (int x = left; x < std::min(side, left + width); ++x)
        std::copy_n(colour, 3, image.at(x, y));
  }
  return image;
}

Image scaled(const Image& image, double factor) {
  Image result = image;
  for (std::uint8_t& value : result.pixels) value = static_cast<std::uint8_t>(factor * value);
  return result;
}

/// By way of a small copy.
Image blurred(const Image& image, int small_side) {
  return resize_bicubic(resize_bicubic(image, {small_side, small_side}), image.size());
}

ImageLook look(const Image& image) {
  return look_at(image, {600, 400});
}

std::vector<ImageLook> looks_of_drawings(std::size_t count) {
  std::vector<ImageLook> looks;
  for (std::size_t i = 0; i < count; ++i) looks.push_back(look(drawing(i)));
  return looks;
}

TEST(ImageLook, SharpnessDependsNeitherOnContrastNorOnHowMuchThereIsToSee) {
  const float few = look(drawing(3, kSide, 1)).sharpness,
              many = look(drawing(4, kSide, 40)).sharpness;
  EXPECT_NEAR(look(scaled(drawing(3), 0.4)).sharpness, look(drawing(3)).sharpness, 0.3);
  EXPECT_LT(std::abs(few - many), 2);
  EXPECT_LT(look(blurred(drawing(3), 24)).sharpness, look(drawing(3)).sharpness - 3);
}

TEST(ImageLook, AnImageThatWasEnlargedIsNotBlurredByThat) {
  const Image small = drawing(3, 32);
  const float sharpness = look_at(resize_bicubic(small, {kSide, kSide}), small.size()).sharpness;
  EXPECT_GT(sharpness, -4);
  EXPECT_LT(look_at(resize_bicubic(blurred(small, 6), {kSide, kSide}), small.size()).sharpness,
            sharpness - 2);
}

TEST(ImageLook, BrightnessIsThatOfTheBrightParts) {
  Image night(kSide, kSide);  // black, a tenth of it lit
  for (int y = 0; y < kSide / 10; ++y) std::ranges::fill_n(night.at(0, y), 3 * kSide, 200);
  EXPECT_NEAR(look(night).brightness, 200, 2);
  EXPECT_EQ(look(Image(kSide, kSide)).brightness, 0);
}

TEST(ImageLook, TheThumbnailIsTheWholeImage) {
  Image image(320, kSide);  // its right half is white
  for (int y = 0; y < kSide; ++y) std::ranges::fill_n(image.at(160, y), 3 * 160, 255);
  const ImageLook seen = look(image);
  for (std::size_t i = 0; i < seen.thumbnail.size(); ++i)
    EXPECT_EQ(seen.thumbnail[i], i % 16 < 8 ? 0 : 255) << i;
}

TEST(ImageLook, OnePixelIsAnImage) {
  const ImageLook seen = look_at(Image(1, 1), {1, 1});
  EXPECT_EQ(seen.brightness, 0);
  EXPECT_THAT(faulty_images({}, kCrop), IsEmpty());
  EXPECT_THAT(faulty_images(std::span(&seen, 1), kCrop), IsEmpty());  // beside what?
}

TEST(FaultyImages, FindsWhatWasPlantedAndNothingElse) {
  std::vector<ImageLook> looks = looks_of_drawings(60);
  looks[7] = look(scaled(drawing(7), 0.1));
  looks[20] = look(blurred(drawing(20), 20));
  looks[33] = look_at(drawing(33), {40, 50});
  const auto found = faulty_images(looks, kCrop);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].place, 7u);
  EXPECT_EQ(found[0].fault, ImageFault::kDark);
  EXPECT_LT(found[0].score, 40);
  EXPECT_EQ(found[1].place, 20u);
  EXPECT_EQ(found[1].fault, ImageFault::kBlurred);
  EXPECT_EQ(found[2].place, 33u);
  EXPECT_EQ(found[2].fault, ImageFault::kTiny);
  EXPECT_EQ(found[2].score, 40);
}

TEST(FaultyImages, ACollectionThatIsSoThroughoutHasNone) {
  std::vector<ImageLook> looks;
  for (std::size_t i = 0; i < 40; ++i) {
    looks.push_back(look_at(blurred(scaled(drawing(i), 0.15), 24), {32, 32}));
  }
  EXPECT_THAT(faulty_images(looks, kCrop), IsEmpty());
}

TEST(FaultyImages, ATinyImageIsNotCalledBlurredAsWell) {
  std::vector<ImageLook> looks = looks_of_drawings(60);
  looks[5] = look_at(blurred(drawing(5), 16), {16, 16});
  const auto found = faulty_images(looks, kCrop);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].fault, ImageFault::kTiny);
}

}  // namespace
}  // namespace protogcd
