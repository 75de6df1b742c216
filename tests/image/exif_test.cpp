#include "protogcd/image/exif.h"

#include <gmock/gmock.h>

#include "protogcd/image/encode.h"
#include "protogcd/image/image_reader.h"
#include "tests/image/image_helpers.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;
using ::testing::ElementsAreArray;

std::string big_endian(std::uint32_t value, int count) {
  std::string text;
  for (int i = count - 1; i >= 0; --i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

std::string little_endian(std::uint32_t value, int count) {
  const std::string text = big_endian(value, count);
  return {text.rbegin(), text.rend()};
}

/// A TIFF directory with two entries, the second of them the orientation.
std::string tiff(int orientation, bool big) {
  const auto number = big ? big_endian : little_endian;
  return (big ? "MM" : "II") + number(42, 2) + number(8, 4) + number(2, 2) +
         /* width */ number(0x0100, 2) + number(4, 2) + number(1, 4) + number(77, 4) +
         /* orientation */ number(0x0112, 2) + number(3, 2) + number(1, 4) +
         number(orientation, 2) + number(0, 2) + number(0, 4);
}

std::string jpeg_with(const std::string& exif, const Image& image) {
  const std::string jpeg =
      encode_jpeg(image, {.quality = 100, .chroma_width = 1, .chroma_height = 1});
  const std::string data = std::string("Exif\0\0", 6) + exif;
  return jpeg.substr(0, 2) + "\xFF\xE1" + big_endian(data.size() + 2, 2) + data + jpeg.substr(2);
}

/// A PNG chunk; its checksum is not looked at, since the decoder passes over it.
std::string png_with(const std::string& exif, const Image& image) {
  const std::string png = encode_png(image);
  const std::size_t after_header = 8 + 25;
  return png.substr(0, after_header) + big_endian(exif.size(), 4) + "eXIf" + exif +
         std::string(4, '\0') + png.substr(after_header);
}

TEST(Exif, AllEightOrientationsTurnUpright) {
  // Stored 3x2:  1 2 3
  //              4 5 6
  Image stored(3, 2);
  for (int i = 0; i < 18; ++i) stored.pixels[i] = static_cast<std::uint8_t>(i / 3 + 1);
  const std::vector<std::vector<int>> expected = {
      {1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1}, {4, 5, 6, 1, 2, 3},
      {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3}, {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image upright = turn_upright(stored, orientation);
    EXPECT_EQ(upright.size(), orientation < 5 ? (ImageSize{3, 2}) : (ImageSize{2, 3}));
    std::vector<int> values;
    for (std::size_t i = 0; i < 18; i += 3) values.push_back(upright.pixels[i]);
    EXPECT_THAT(values, ElementsAreArray(expected[orientation - 1])) << orientation;
  }
}

TEST(Exif, IsFoundInEveryFormatAndByteOrderAndAppliedOnlyOnRequest) {
  const Image image = random_image(20, 10, 1);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big : {false, true}) {
      const std::string exif = tiff(orientation, big);
      for (const auto& file : {jpeg_with(exif, image), png_with(exif, image)}) {
        const auto format = detect_image_format(bytes_of(file));
        EXPECT_EQ(exif_orientation(bytes_of(file), format), orientation);
        const Image plain = good(decode_image(bytes_of(file)));
        EXPECT_EQ(plain.size(), image.size());
        const Image upright = good(decode_image(bytes_of(file), {.apply_orientation = true}));
        EXPECT_TRUE(upright == turn_upright(plain, orientation));
      }
    }
  }
  const std::string exif = tiff(6, false);
  const std::string webp = "RIFF" + little_endian(12 + 8 + exif.size(), 4) + "WEBP" + "XMP " +
                           little_endian(3, 4) + "abc" + std::string(1, '\0') + "EXIF" +
                           little_endian(exif.size(), 4) + exif;
  EXPECT_EQ(exif_orientation(bytes_of(webp), ImageFormat::kWebp), 6);
}

TEST(Exif, GoldenPhotoWithOrientationSixStandsUpright) {
  const std::string file = golden_file("image14.jpg");
  EXPECT_EQ(good(decode_image(bytes_of(file))).size(), (ImageSize{91, 120}));
  EXPECT_EQ(good(decode_image(bytes_of(file), {.apply_orientation = true})).size(),
            (ImageSize{120, 91}));
}

TEST(Exif, NonsenseMeansUpright) {
  const Image image = random_image(8, 8, 2);
  for (int orientation : {0, 9, 65535}) {
    const std::string file = jpeg_with(tiff(orientation, true), image);
    EXPECT_EQ(exif_orientation(bytes_of(file), ImageFormat::kJpeg), 1);
  }
  const std::string good_exif = tiff(6, false);
  for (std::size_t length = 0; length < good_exif.size(); ++length) {
    const std::string file = jpeg_with(good_exif.substr(0, length), image);
    const int found = exif_orientation(bytes_of(file), ImageFormat::kJpeg);
    EXPECT_TRUE(found == 1 || found == 6);
    const std::string cut = png_with(good_exif, image).substr(0, 33 + length);
    EXPECT_LE(exif_orientation(bytes_of(cut), ImageFormat::kPng), 6);
  }
}

TEST(Exif, ASegmentShorterThanItsOwnPrefixIsPassedOver) {
  const std::string file = "\xFF\xD8\xFF\xE1" + big_endian(4, 2) + std::string("Exif\0\0MM", 8);
  EXPECT_EQ(exif_orientation(bytes_of(file), ImageFormat::kJpeg), 1);
}

TEST(Exif, ViewsOfTurnedPhotosAreTheViewsOfTheUprightImage) {
  const Image image = random_image(300, 200, 3);
  const std::string file = jpeg_with(tiff(6, true), image);
  ImageReader reader({.apply_orientation = true});
  Image view;
  ASSERT_EQ(reason(reader.decode_center_view(bytes_of(file), {64, 56}, view)), "");
  const Image upright = turn_upright(good(decode_image(bytes_of(file))), 6);
  const auto target = size_with_short_side(upright.size(), 64).value();
  EXPECT_TRUE(view == resize_and_crop(upright, target, center_crop_box(target, 56)));
}

}  // namespace
}  // namespace protogcd
