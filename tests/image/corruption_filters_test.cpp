// What the corruptions are made of: filters, sampling between pixels, clouds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "protogcd/core/random.h"
#include "protogcd/image/corrupt/float_image.h"
#include "protogcd/image/corrupt/plasma.h"

namespace protogcd::corruption {
namespace {

RandomStream stream_of(std::uint64_t seed) {
  return RandomStream({.seed = seed, .purpose = RandomPurpose::kTest});
}

FloatImage random_values(ImageSize size, int channels) {
  FloatImage image(size, channels);
  RandomStream random = stream_of(9);
  for (float& value : image.values) value = static_cast<float>(random.uniform());
  return image;
}

int plainly_mirrored(int index, int size) {
  while (index < 0 || index >= size) index = index < 0 ? -1 - index : 2 * size - 1 - index;
  return index;
}

TEST(FloatImage, ConvolutionIsThePlainSumOverTheMirroredImage) {
  const std::vector<Tap> taps = {{0, 0, 0.5f}, {-3, 1, 0.25f}, {2, -7, -1}, {9, 0, 2}};
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{4, 3}, ImageSize{17, 9}}) {
    for (const int channels : {1, 3}) {
      const auto image = random_values(size, channels);
      const auto result = convolve(image, taps);
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          for (int c = 0; c < channels; ++c) {
            float expected = 0;
            for (const auto& [dx, dy, weight] : taps) {
              expected += weight * image.at(plainly_mirrored(x + dx, size.width),
                                            plainly_mirrored(y + dy, size.height))[c];
            }
            ASSERT_NEAR(result.at(x, y)[c], expected, 1e-5);
          }
        }
      }
    }
  }
}

TEST(FloatImage, SamplesBetweenPixelsAndBeyondTheBorder) {
  FloatImage image({2, 2}, 1);
  image.values = {0, 1, 2, 3};
  const auto value_at = [&](double x, double y) {
    float value = 0;
    sample(image, x, y, &value);
    return value;
  };
  EXPECT_FLOAT_EQ(value_at(0, 0), 0);
  EXPECT_FLOAT_EQ(value_at(0.5, 0.5), 1.5);
  EXPECT_FLOAT_EQ(value_at(-1, 1), 2);
  EXPECT_FLOAT_EQ(value_at(2, 0), 1);
  EXPECT_FLOAT_EQ(value_at(1000003, 0), value_at(3, 0));
}

TEST(FloatImage, ATrailRunsOneWay) {
  FloatImage image({21, 21}, 1);
  *image.at(10, 10) = 1;
  const auto result = trail_blur(image, 4, 3, 0);
  EXPECT_GT(*result.at(9, 10), 0.1);
  EXPECT_GT(*result.at(9, 10), *result.at(7, 10));
  EXPECT_FLOAT_EQ(*result.at(11, 10), 0);
  EXPECT_FLOAT_EQ(*result.at(10, 9), 0);
}

TEST(Plasma, ReachesFromZeroToOneAndIsSmootherWithDecay) {
  const auto mean_step = [](double decay) {
    RandomStream random = stream_of(4);
    const auto clouds = plasma({100, 60}, decay, random);
    EXPECT_FLOAT_EQ(std::ranges::min(clouds.values), 0);
    EXPECT_FLOAT_EQ(std::ranges::max(clouds.values), 1);
    double sum = 0;
    for (std::size_t i = 1; i < clouds.values.size(); ++i) {
      sum += std::abs(clouds.values[i] - clouds.values[i - 1]);
    }
    return sum;
  };
  EXPECT_GT(mean_step(1.4), 1.5 * mean_step(2));
}

TEST(Plasma, AStripDoesNotCostTheMemoryOfASquare) {
  RandomStream random = stream_of(4);
  EXPECT_EQ(plasma({1, 60000}, 2, random).values.size(), 60000u);
}

}  // namespace
}  // namespace protogcd::corruption
