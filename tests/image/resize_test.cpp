#include "protogcd/image/resize.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/image/transform.h"
#include "tests/image/image_helpers.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;
using ::testing::ElementsAreArray;

/// One channel of an image, rows one after another.
std::vector<int> channel_of(const Image& image, int channel) {
  std::vector<int> values;
  for (std::size_t i = channel; i < image.pixels.size(); i += 3) values.push_back(image.pixels[i]);
  return values;
}

Image ramp_4x4() {
  Image image(4, 4);
  for (int i = 0; i < 16; ++i) {
    std::fill_n(image.pixels.begin() + 3 * i, 3, std::uint8_t(i == 15 ? 255 : 16 * i));
  }
  return image;
}

// Ground truth of Pillow 9.4.
TEST(Resize, MatchesPillowOnASmallRamp) {
  const Image larger = resize_bicubic(ramp_4x4(), {8, 8});
  const std::vector<int> expected = {
      0,   0,   5,   14,  22,  31,  39,  43,  11,  14,  22,  31,  39,  48,  56,  60,
      45,  48,  56,  65,  73,  82,  90,  94,  79,  83,  91,  100, 108, 117, 125, 129,
      111, 115, 123, 132, 140, 149, 156, 160, 146, 150, 158, 167, 174, 184, 194, 199,
      180, 184, 192, 201, 208, 221, 236, 242, 197, 201, 209, 218, 225, 238, 255, 255};
  const Image smaller = resize_bicubic(ramp_4x4(), {3, 3});
  for (int channel = 0; channel < 3; ++channel) {
    EXPECT_THAT(channel_of(larger, channel), ElementsAreArray(expected));
    EXPECT_THAT(channel_of(smaller, channel),
                ElementsAreArray({15, 36, 57, 99, 120, 141, 183, 203, 233}));
  }
}

// Ground truth of Pillow 9.5 and 12.0; Pillow 13 resizes such images in the other order.
TEST(Resize, TallImagesAreResizedAlongRowsFirst) {
  Image image(24, 96);
  for (int y = 0; y < 96; ++y) {
    for (int x = 0; x < 24; ++x) {
      std::uint8_t* pixel = image.at(x, y);
      pixel[0] = static_cast<std::uint8_t>(37 * x + 91 * y + 13 * x * y);
      pixel[1] = static_cast<std::uint8_t>(x * x + 7 * y);
      pixel[2] = static_cast<std::uint8_t>(200 * ((x / 3 + y / 5) % 2));
    }
  }
  const Image resized = resize_bicubic(image, {20, 80});
  std::int64_t sum = 0, weighted = 0;
  for (std::size_t i = 0; i < resized.pixels.size(); ++i) {
    sum += resized.pixels[i];
    weighted += static_cast<std::int64_t>(resized.pixels[i] * (i % 1009));
  }
  EXPECT_EQ(sum, 568932);
  EXPECT_EQ(weighted, 274540908);
}

TEST(Resize, EveryKernelEqualsThePlainOneOnRandomShapes) {
  const auto kernels = available_resample_kernels();
  RandomStream stream({.seed = 7});
  for (int round = 0; round < 120; ++round) {
    const ImageSize from{int(stream.between(1, 150)), int(stream.between(1, 150))};
    const ImageSize to{int(stream.between(1, 150)), int(stream.between(1, 150))};
    ImageBox crop{.left = int(stream.below(to.width)), .top = int(stream.below(to.height))};
    crop.width = int(stream.between(1, to.width - crop.left));
    crop.height = int(stream.between(1, to.height - crop.top));
    Image image = random_image(from.width, from.height, round);
    if (round % 3 == 0) {  // black and white: sums leave 0..255 on both sides
      for (auto& value : image.pixels) value = value < 128 ? 0 : 255;
    }
    Image expected;
    Resizer(ResampleKernel::kScalar)
        .resize(image, from, {0, 0, from.width, from.height}, to, crop, expected);
    for (const auto kernel : kernels) {
      Image output;
      Resizer(kernel).resize(image, from, {0, 0, from.width, from.height}, to, crop, output);
      EXPECT_TRUE(output == expected) << resample_kernel_name(kernel) << " " << from.width << "x"
                                      << from.height << " -> " << to.width << "x" << to.height;
    }
  }
}

TEST(Resize, LongKernelsOfStrongReductionAreExactToo) {
  const Image image = random_image(2000, 3, 5);
  Image expected;
  const ImageBox crop{0, 0, 5, 3};
  Resizer(ResampleKernel::kScalar)
      .resize(image, {2000, 3}, {0, 0, 2000, 3}, {5, 3}, crop, expected);
  EXPECT_TRUE(resize_bicubic(image, {5, 3}) == expected);
}

TEST(Resize, CroppingWhileResizingEqualsCroppingAfterwards) {
  const Image image = random_image(97, 61, 1);
  const Image whole = resize_bicubic(image, {200, 130});
  const ImageBox crop{37, 11, 80, 101};
  EXPECT_TRUE(resize_and_crop(image, {200, 130}, crop) == crop_image(whole, crop));
}

TEST(Resize, AWindowOfTheSourceIsEnough) {
  const Image image = random_image(97, 61, 2);
  const ImageSize target{50, 40};
  const ImageBox crop{20, 15, 11, 13};
  const ImageBox needed = source_box(image.size(), target, crop);
  EXPECT_LT(needed.width, 97);
  EXPECT_LT(needed.height, 61);
  Image output;
  Resizer().resize(crop_image(image, needed), image.size(), needed, target, crop, output);
  EXPECT_TRUE(output == resize_and_crop(image, target, crop));
}

TEST(Resize, OneResizerServesImagesOfAllSizes) {
  Resizer resizer;
  for (const int side : {300, 3, 120, 1, 47}) {
    const Image image = random_image(side, side + 1, side);
    Image output;
    resizer.resize(image, image.size(), {0, 0, side, side + 1}, {31, 33}, {0, 0, 31, 33}, output);
    EXPECT_TRUE(output == resize_bicubic(image, {31, 33})) << side;
  }
}

TEST(ShortSide, LongSideIsRoundedDown) {
  EXPECT_EQ(size_with_short_side({500, 375}, 256), (ImageSize{341, 256}));
  EXPECT_EQ(size_with_short_side({375, 500}, 256), (ImageSize{256, 341}));
  EXPECT_EQ(size_with_short_side({32, 32}, 256), (ImageSize{256, 256}));
  EXPECT_EQ(size_with_short_side({7, 1}, 256), (ImageSize{1792, 256}));
  EXPECT_EQ(size_with_short_side({257, 258}, 256), (ImageSize{256, 256}));
}

TEST(ShortSide, AnImageThatFitsIsLeftAlone) {
  EXPECT_EQ(size_with_short_side({256, 999}, 256), (ImageSize{256, 999}));
  const Image image = random_image(256, 300, 3);
  EXPECT_TRUE(good(resize_short_side(image, 256)) == image);
}

TEST(ShortSide, ElongatedImagesAreRefusedBeforeMemoryIsTaken) {
  EXPECT_THAT(reason(resize_short_side(Image(20000, 1), 256)), ::testing::HasSubstr("elongated"));
  EXPECT_EQ(size_with_short_side({100'000'000, 1}, 256), std::nullopt);
}

TEST(ShortSide, ACropOfAnElongatedImageIsCheap) {
  const Image image = random_image(20000, 1, 4);
  const auto target = size_with_short_side(image.size(), 256).value();
  EXPECT_EQ(target, (ImageSize{5'120'000, 256}));
  const Image view = resize_and_crop(image, target, center_crop_box(target, 224));
  EXPECT_EQ(view.size(), (ImageSize{224, 224}));
}

TEST(ViewSize, KeepsThePublishedProportion) {
  EXPECT_EQ(ViewSize::for_crop(224).short_side, 256);
  EXPECT_EQ(ViewSize::for_crop(32).short_side, 37);
  EXPECT_EQ(ViewSize::for_crop(64).short_side, 73);
  EXPECT_EQ(ViewSize::for_crop(518).short_side, 592);
}

TEST(CenterCrop, HalfOffsetsGoToTheEvenNeighbour) {
  EXPECT_EQ(center_crop_box({341, 256}, 224), (ImageBox{58, 16, 224, 224}));  // 58.5
  EXPECT_EQ(center_crop_box({256, 383}, 224), (ImageBox{16, 80, 224, 224}));  // 79.5
  EXPECT_EQ(center_crop_box({225, 224}, 224), (ImageBox{0, 0, 224, 224}));    // 0.5
  EXPECT_THROW(center_crop_box({223, 500}, 224), DataError);
}

TEST(RandomView, DrawsTheRowThenTheColumnThenTheFlip) {
  const RandomKey key{.seed = 3, .purpose = RandomPurpose::kAugment, .epoch = 2, .position = 9};
  RandomStream stream(key), same(key);
  const RandomView view = draw_random_view({341, 256}, 224, stream);
  EXPECT_EQ(view.box.top, same.between(0, 32));
  EXPECT_EQ(view.box.left, same.between(0, 117));
  EXPECT_EQ(view.flip, same.chance(0.5));
  EXPECT_THROW(draw_random_view({200, 300}, 224, stream), DataError);
}

TEST(RandomView, ReachesEveryPositionAboutEquallyOften) {
  RandomStream stream({.seed = 4, .purpose = RandomPurpose::kAugment});
  std::vector<int> rows(3), columns(2);
  int flips = 0;
  for (int i = 0; i < 6000; ++i) {
    const RandomView view = draw_random_view({11, 12}, 10, stream);
    ++rows.at(view.box.top);
    ++columns.at(view.box.left);
    flips += view.flip;
  }
  for (const int count : rows) EXPECT_NEAR(count, 2000, 200);
  for (const int count : columns) EXPECT_NEAR(count, 3000, 200);
  EXPECT_NEAR(flips, 3000, 200);
}

}  // namespace
}  // namespace protogcd
