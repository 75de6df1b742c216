#include "protogcd/image/corrupt/corruption.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "tests/image/image_helpers.h"
#include "tests/support/error_message.h"

namespace protogcd {

/// The name of the parameter in the test's name.
void PrintTo(const Corruption& corruption, std::ostream* stream) {
  *stream << corruption.name;
}

namespace {

using namespace protogcd::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ImageSize kCifarSize{32, 32}, kPhotoSize{224, 168};

RandomStream stream_of(std::uint64_t seed) {
  return RandomStream({.seed = seed, .purpose = RandomPurpose::kTest});
}

struct Colour {
  double red = 0, green = 0, blue = 0;
};

void set_pixel(Image& image, int x, int y, const Colour& colour) {
  std::uint8_t* pixel = image.at(x, y);
  pixel[0] = static_cast<std::uint8_t>(colour.red);
  pixel[1] = static_cast<std::uint8_t>(colour.green);
  pixel[2] = static_cast<std::uint8_t>(colour.blue);
}

/// A sun in a pale sky over hills, with grass in front: edges, soft shades and texture.
Colour landscape_at(double right, double down) {
  const double hills = 0.5 + 0.08 * std::sin(9 * right) + 0.04 * std::sin(31 * right);
  if (std::hypot(right - 0.7, down - 0.25) < 0.12) return {240, 210, 90};
  if (down < hills) return {90 + 120 * down, 130 + 90 * down, 190 + 30 * down};
  if (down < hills + 0.2) return {60 + 40 * right, 70 + 30 * right, 80};
  const double blade = 1 + 0.3 * std::sin(140 * right + 20 * down) * std::sin(60 * down);
  return {60 * blade, 120 * blade, 40 * blade};
}

Image landscape(ImageSize size) {
  constexpr int kFiner = 4;  // samples along each side of a pixel, for smooth edges
  Image image(size.width, size.height);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      Colour sum;
      for (int i = 0; i < kFiner * kFiner; ++i) {
        const Colour colour = landscape_at((x + (i % kFiner + 0.5) / kFiner) / size.width,
                                           (y + (i / kFiner + 0.5) / kFiner) / size.height);
        sum.red += colour.red / (kFiner * kFiner);
        sum.green += colour.green / (kFiner * kFiner);
        sum.blue += colour.blue / (kFiner * kFiner);
      }
      set_pixel(image, x, y, sum);
    }
  }
  return image;
}

Image grey_ramp(ImageSize size) {
  Image image(size.width, size.height);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const double grey = 255.0 * x / size.width;
      set_pixel(image, x, y, {grey, grey, grey});
    }
  }
  return image;
}

Image corrupted(const Image& image, const Corruption& corruption, int severity,
                std::uint64_t seed) {
  RandomStream random = stream_of(seed);
  return corrupt(image, corruption, severity, random);
}

Image flat_image(ImageSize size, std::uint8_t value) {
  Image image(size.width, size.height);
  std::ranges::fill(image.pixels, value);
  return image;
}

double mean_of(const Image& image) {
  double sum = 0;
  for (const auto value : image.pixels) sum += value;
  return sum / static_cast<double>(image.pixels.size());
}

double deviation_of(const Image& image) {
  const double mean = mean_of(image);
  double sum = 0;
  for (const auto value : image.pixels) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(image.pixels.size()));
}

double mean_difference(const Image& a, const Image& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) sum += std::abs(a.pixels[i] - b.pixels[i]);
  return sum / static_cast<double>(a.pixels.size());
}

/// How much the image bends along its rows: 0 for what is linear, as a ramp after any affine map.
double roughness(const Image& image) {
  double sum = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 1; x + 1 < image.width; ++x) {
      sum += std::abs(image.at(x - 1, y)[0] - 2 * image.at(x, y)[0] + image.at(x + 1, y)[0]);
    }
  }
  return sum / static_cast<double>(image.size().pixels());
}

/// 1 less the correlation of all values: how much of the picture's structure is lost.
double lost_structure(const Image& a, const Image& b) {
  double sum_a = 0, sum_b = 0, squares_a = 0, squares_b = 0, products = 0;
  const auto count = static_cast<double>(a.pixels.size());
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    const double x = a.pixels[i], y = b.pixels[i];
    sum_a += x;
    sum_b += y;
    squares_a += x * x;
    squares_b += y * y;
    products += x * y;
  }
  return 1 - (products - sum_a * sum_b / count) / std::sqrt((squares_a - sum_a * sum_a / count) *
                                                            (squares_b - sum_b * sum_b / count));
}

/// How hard a corruption hits, in a measure that the published constants make grow.
double harm(const Corruption& corruption, ImageSize size, int severity) {
  constexpr int kSeeds = 8;
  const Image clean = landscape(size), ramp = grey_ramp(size);
  double sum = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    if (corruption.name == "elastic_transform") {
      // Moves all pixels at severity 1 and tears at them at severity 5.
      sum += roughness(corrupted(ramp, corruption, severity, seed));
    } else if (corruption.name == "frost") {
      // Severe frost darkens the scene as much as its ice lightens it.
      sum += lost_structure(corrupted(clean, corruption, severity, seed), clean);
    } else {
      sum += mean_difference(corrupted(clean, corruption, severity, seed), clean);
    }
  }
  return sum / kSeeds;
}

/// Severities that hit harder than the one before, by the published constants.
std::vector<int> growing_severities(const Corruption& corruption, bool is_small) {
  // Between the others only the blur grows, which hides some of what the glass displaces.
  if (corruption.name == "glass_blur") {
    return is_small ? std::vector{4} : std::vector{3, 4, 5};
  }
  // From 3 to 4 the trail gets longer where it has long faded away.
  if (corruption.name == "motion_blur" && is_small) return {2, 3, 5};
  // Severities 1 and 2 bend the whole picture, 3 to 5 small parts of it.
  if (corruption.name == "elastic_transform" && !is_small) return {2, 4, 5};
  return {2, 3, 4, 5};
}

class EveryCorruption : public ::testing::TestWithParam<Corruption> {};

INSTANTIATE_TEST_SUITE_P(All, EveryCorruption, ::testing::ValuesIn(corruptions()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(EveryCorruption, GrowsWithSeverity) {
  for (const ImageSize size : {kCifarSize, kPhotoSize}) {
    std::array<double, kCorruptionSeverities + 1> harms{};
    for (int severity = 1; severity <= kCorruptionSeverities; ++severity) {
      harms[severity] = harm(GetParam(), size, severity);
    }
    EXPECT_GT(harms[1], 0);
    EXPECT_GT(harms[5], harms[1]);
    for (const int severity : growing_severities(GetParam(), size == kCifarSize)) {
      EXPECT_GT(harms[severity], harms[severity - 1])
          << "severity " << severity << ", width " << size.width;
    }
  }
}

TEST_P(EveryCorruption, DependsOnTheStreamAlone) {
  const Image clean = landscape(kCifarSize);
  for (int severity = 1; severity <= kCorruptionSeverities; ++severity) {
    const Image first = corrupted(clean, GetParam(), severity, 1);
    EXPECT_TRUE(first == corrupted(clean, GetParam(), severity, 1)) << severity;
    EXPECT_EQ(first != corrupted(clean, GetParam(), severity, 2), GetParam().is_random) << severity;
  }
}

TEST_P(EveryCorruption, KeepsTheSizeOfImagesOfAnyShape) {
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{3, 3}, ImageSize{8, 8}, ImageSize{1, 90},
                               ImageSize{90, 2}, ImageSize{65, 600}}) {
    const Image clean = random_image(size.width, size.height, 5);
    for (int severity = 1; severity <= kCorruptionSeverities; ++severity) {
      const Image result = corrupted(clean, GetParam(), severity, 1);
      EXPECT_EQ(result.size(), size);
      EXPECT_EQ(result.pixels.size(), clean.pixels.size());
      EXPECT_TRUE(result == corrupted(clean, GetParam(), severity, 1));
    }
  }
}

TEST_P(EveryCorruption, CutsOffInsteadOfWrappingAround) {
  const Image white = flat_image(kCifarSize, 255);
  const double mean = mean_of(corrupted(white, GetParam(), 5, 1));
  // Noise pulls some values down; a wrap would send half of them to the other end.
  EXPECT_GT(mean, GetParam().name == "fog" ? 100 : 200);
}

TEST(Corruption, AllButNoiseAndBluishIceKeepGreyImagesGrey) {
  for (const Corruption& corruption : corruptions()) {
    if (corruption.name == "frost" || corruption.name.ends_with("_noise")) continue;
    for (const ImageSize size : {kCifarSize, kPhotoSize}) {
      const Image result = corrupted(grey_ramp(size), corruption, 5, 1);
      for (std::size_t i = 0; i < result.pixels.size(); i += 3) {
        ASSERT_EQ(result.pixels[i], result.pixels[i + 1]) << corruption.name;
        ASSERT_EQ(result.pixels[i], result.pixels[i + 2]) << corruption.name;
      }
    }
  }
}

TEST(Corruption, WhatMovesOrMixesPixelsLeavesAFlatImageAsItIs) {
  for (const char* name : {"defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "contrast",
                           "elastic_transform", "pixelate"}) {
    for (const ImageSize size : {kCifarSize, kPhotoSize}) {
      const Image flat = flat_image(size, 77);
      for (int severity = 1; severity <= kCorruptionSeverities; ++severity) {
        EXPECT_TRUE(corrupted(flat, find_corruption(name), severity, 1) == flat)
            << name << " " << severity;
      }
    }
  }
}

TEST(Corruption, NoiseHasThePublishedSpread) {
  const Image grey = flat_image(kPhotoSize, 128);
  EXPECT_NEAR(deviation_of(corrupted(grey, find_corruption("gaussian_noise"), 1, 1)), 0.08 * 255,
              0.3);
  // Photons of 128/255 of white, of which there are 60: their count's variance is its mean.
  const double photons = 60 * 128 / 255.0;
  const Image shot = corrupted(grey, find_corruption("shot_noise"), 1, 1);
  EXPECT_NEAR(deviation_of(shot), 128 / std::sqrt(photons), 0.4);
  EXPECT_NEAR(mean_of(shot), 128, 0.4);
}

TEST(Corruption, ImpulsesAreHalfBlackHalfWhiteAndAsManyAsPublished) {
  const Image result =
      corrupted(flat_image(kPhotoSize, 128), find_corruption("impulse_noise"), 5, 1);
  const auto count = static_cast<double>(result.pixels.size());
  EXPECT_NEAR(static_cast<double>(std::ranges::count(result.pixels, 0)) / count, 0.135, 0.005);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(result.pixels, 255)) / count, 0.135, 0.005);
}

TEST(Corruption, TheShortSideChoosesTheConstants) {
  const auto spread = [](ImageSize size) {
    return deviation_of(corrupted(flat_image(size, 128), find_corruption("gaussian_noise"), 1, 1));
  };
  EXPECT_NEAR(spread({64, 500}), 0.04 * 255, 0.3);
  EXPECT_NEAR(spread({65, 500}), 0.08 * 255, 0.4);
}

TEST(Corruption, BrightnessKeepsHueAndSaturation) {
  Image image(100, 100);
  for (int y = 0; y < 100; ++y) {
    for (int x = 0; x < 100; ++x) set_pixel(image, x, y, {100, 50, 0});
  }
  set_pixel(image, 1, 0, {0, 0, 0});
  const Image result = corrupted(image, find_corruption("brightness"), 2, 1);  // + 0.2
  EXPECT_THAT(std::vector(result.at(0, 0), result.at(0, 0) + 3), ElementsAre(151, 76, 0));
  EXPECT_THAT(std::vector(result.at(1, 0), result.at(1, 0) + 3), ElementsAre(51, 51, 51));
}

TEST(Corruption, ContrastScalesWhatDiffersFromTheMean) {
  const Image clean = grey_ramp(kPhotoSize);
  const Image result = corrupted(clean, find_corruption("contrast"), 3, 1);
  EXPECT_NEAR(mean_of(result), mean_of(clean), 0.5);
  EXPECT_NEAR(deviation_of(result), 0.2 * deviation_of(clean), 0.1);
}

TEST(Corruption, PixelateAveragesBlocks) {
  const Image clean = random_image(100, 80, 3);
  const Image result = corrupted(clean, find_corruption("pixelate"), 2, 1);  // half the side
  for (int y = 0; y < clean.height; ++y) {
    for (int x = 0; x < clean.width; ++x) {
      const int left = x / 2 * 2, top = y / 2 * 2;
      const int sum = clean.at(left, top)[1] + clean.at(left + 1, top)[1] +
                      clean.at(left, top + 1)[1] + clean.at(left + 1, top + 1)[1];
      ASSERT_NEAR(result.at(x, y)[1], sum / 4.0, 0.51) << x << " " << y;
    }
  }
}

TEST(Corruption, UnknownNamesAndSeveritiesAreErrors) {
  EXPECT_EQ(find_corruption("fog").name, "fog");
  EXPECT_THAT(message_of<UsageError>([] { find_corruption("gausian_noise"); }),
              AllOf(HasSubstr("'gausian_noise'"), HasSubstr("did you mean 'gaussian_noise'"),
                    HasSubstr("jpeg_compression")));
  EXPECT_THROW(find_corruption(""), UsageError);
  for (const int severity : {0, 6, -1}) {
    EXPECT_THAT(message_of<UsageError>(
                    [&] { corrupted(Image(2, 2), find_corruption("fog"), severity, 1); }),
                HasSubstr(std::to_string(severity) + " is not within 1 to 5"));
  }
  EXPECT_THROW(corrupted(Image(), find_corruption("fog"), 1, 1), InternalError);
}

}  // namespace
}  // namespace protogcd
