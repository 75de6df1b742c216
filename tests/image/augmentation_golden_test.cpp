// The operations of strong views against Pillow's bytes (tests/fixtures/make_augmentations.py).
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "protogcd/core/json.h"
#include "protogcd/core/sha256.h"
#include "protogcd/image/affine.h"
#include "protogcd/image/colour.h"
#include "protogcd/image/filter.h"
#include "protogcd/image/rand_augment.h"
#include "protogcd/image/resize.h"
#include "protogcd/image/transform.h"
#include "tests/image/image_helpers.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;
using Numbers = std::vector<double>;

nlohmann::json augmentations() {
  return parse_json_or_discard(
      read_text_file(source_folder() + "/tests/fixtures/augmentations.json"));
}

std::string digest_of(const Image& image) {
  const auto* bytes = reinterpret_cast<const char*>(image.pixels.data());
  return sha256_hex(std::string(bytes, image.pixels.size())).substr(0, 16);
}

/// The pictures of the script, by the same formulas.
Image drawn(int width, int height, const std::function<int(int x, int y, int c)>& value) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) image.at(x, y)[c] = static_cast<std::uint8_t>(value(x, y, c));
    }
  }
  return image;
}

int pattern(int x, int y, int c) {
  return (x * 5 + y * 3 * (c + 1) + (x * x + 7 * y * (c + 2)) % 61) % 256;
}

Image picture(const std::string& name) {
  if (name == "picture") return drawn(61, 47, pattern);
  if (name == "tiny") return drawn(2, 2, pattern);
  if (name == "narrow") return drawn(90, 3, pattern);
  if (name == "grey") return drawn(30, 20, [](int, int, int) { return 77; });
  if (name == "dull")
    return drawn(40, 30, [](int x, int y, int c) { return pattern(x, y, c) / 8 + 100; });
  return drawn(512, 512,
               [](int x, int y, int c) { return ((y * 512 + x) * 63 + x % 61) >> (8 * c) & 255; });
}

void resized_crop(Image& image, const Numbers& n) {
  const auto number = [&](std::size_t i) { return static_cast<int>(n[i]); };
  image = resize_bicubic(crop_image(image, {number(0), number(1), number(2), number(3)}),
                         {number(4), number(4)});
}

const std::map<std::string, std::function<void(Image&, const Numbers&)>> kOperations = {
    {"brightness", [](Image& i, const Numbers& n) { change_brightness(i, n[0]); }},
    {"contrast", [](Image& i, const Numbers& n) { change_contrast(i, n[0]); }},
    {"saturation", [](Image& i, const Numbers& n) { change_saturation(i, n[0]); }},
    {"sharpness", [](Image& i, const Numbers& n) { change_sharpness(i, n[0]); }},
    {"hue", [](Image& i, const Numbers& n) { change_hue(i, n[0]); }},
    {"blur", [](Image& i, const Numbers& n) { blur_image(i, n[0]); }},
    {"solarise", [](Image& i, const Numbers& n) { solarise(i, n[0]); }},
    {"posterise", [](Image& i, const Numbers& n) { posterise(i, static_cast<int>(n[0])); }},
    {"rotate", [](Image& i, const Numbers& n) { i = rotated(i, n[0]); }},
    {"shear_x", [](Image& i, const Numbers& n) { i = sheared_x(i, n[0]); }},
    {"shear_y", [](Image& i, const Numbers& n) { i = sheared_y(i, n[0]); }},
    {"shift_x", [](Image& i, const Numbers& n) { i = shifted(i, static_cast<int>(n[0]), 0); }},
    {"shift_y", [](Image& i, const Numbers& n) { i = shifted(i, 0, static_cast<int>(n[0])); }},
    {"grey", [](Image& i, const Numbers&) { make_grey(i); }},
    {"invert", [](Image& i, const Numbers&) { invert(i); }},
    {"stretch_contrast", [](Image& i, const Numbers&) { stretch_contrast(i); }},
    {"equalise", [](Image& i, const Numbers&) { equalise(i); }},
    {"resized_crop", resized_crop},
};

TEST(Augmentation, PicturesAreTheScripts) {
  const auto golden = augmentations();
  for (const auto& [name, digest] : golden.at("pictures").items())
    EXPECT_EQ(digest_of(picture(name)), digest.get<std::string>()) << name;
}

TEST(Augmentation, EveryOperationGivesPillowsBytes) {
  const auto golden = augmentations();
  std::set<std::string> seen;
  for (const auto& line : golden.at("results")) {
    Image image = picture(line[0].get<std::string>());
    seen.insert(line[1].get<std::string>());
    kOperations.at(line[1].get<std::string>())(image, line[2].get<Numbers>());
    EXPECT_EQ(digest_of(image), line[3].get<std::string>()) << line.dump();
  }
  EXPECT_EQ(seen.size(), kOperations.size());
}

TEST(RandAugment, StrengthsAreTorchvisions) {
  const std::map<std::string, AugmentKind> kinds = {
      {"ShearX", AugmentKind::kShearX},         {"TranslateX", AugmentKind::kTranslateX},
      {"TranslateY", AugmentKind::kTranslateY}, {"Rotate", AugmentKind::kRotate},
      {"Brightness", AugmentKind::kBrightness}, {"Solarize", AugmentKind::kSolarize},
      {"Posterize", AugmentKind::kPosterize}};
  const auto expected = augmentations().at("magnitudes");
  ASSERT_EQ(expected.size(), kinds.size());
  for (const auto& [name, kind] : kinds) {
    for (int bin = 0; bin < kMagnitudeBins; ++bin) {
      EXPECT_FLOAT_EQ(augment_magnitude(kind, bin, {224, 160}), expected.at(name)[bin].get<float>())
          << name << " " << bin;
    }
  }
}

}  // namespace
}  // namespace protogcd
