#include "protogcd/image/corrupt/corruption.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

#include "protogcd/image/corrupt/float_image.h"
#include "protogcd/image/corrupt/plasma.h"
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
using ::testing::Each;
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

class EveryCorruption : public ::testing::TestWithParam<Corruption> {};

INSTANTIATE_TEST_SUITE_P(All, EveryCorruption, ::testing::ValuesIn(corruptions()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(EveryCorruption, GrowsWithSeverity) {
  for (const ImageSize size : {kCifarSize, kPhotoSize}) {
    for (int severity = 1; severity <= 5; ++severity) {
      printf("%s %d %d %.4f\n", std::string(GetParam().name).c_str(), size.width, severity, harm(GetParam(), size, severity));
    }
  }
}

}  // namespace
}  // namespace protogcd
