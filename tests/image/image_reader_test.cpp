#include "protogcd/image/image_reader.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/image/encode.h"
#include "protogcd/image/transform.h"
#include "tests/image/image_helpers.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;

/// Smooth and noisy parts, so that every block of a JPEG differs from its neighbours.
Image busy_image(int width, int height, int seed) {
  Image image = random_image(width, height, seed);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        auto& value = image.at(x, y)[c];
        value = static_cast<std::uint8_t>((value / 4 + 3 * x * (c + 1) + 2 * y) & 0xFF);
      }
    }
  }
  return image;
}

constexpr std::pair<int, int> kSubsamplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}};

TEST(JpegWindow, HasThePixelsOfTheWholeImage) {
  RandomStream stream({.seed = 11});
  PartialImage part, whole;
  for (int round = 0; round < 90; ++round) {
    const auto [chroma_width, chroma_height] = kSubsamplings[round % 6];
    const int width = int(stream.between(1, 260)), height = int(stream.between(1, 260));
    const std::string file =
        encode_jpeg(busy_image(width, height, round),
                    {.quality = 85, .chroma_width = chroma_width, .chroma_height = chroma_height});
    ImageBox wanted{.left = int(stream.below(width)), .top = int(stream.below(height))};
    wanted.width = int(stream.between(1, width - wanted.left));
    wanted.height = int(stream.between(1, height - wanted.top));
    ASSERT_EQ(reason(decode_jpeg(bytes_of(file), {}, nullptr, whole)), "");
    const WantedBox ask = [&](ImageSize) { return wanted; };
    ASSERT_EQ(reason(decode_jpeg(bytes_of(file), {}, &ask, part)), "");
    ASSERT_LE(part.box.left, wanted.left);
    ASSERT_LE(part.box.top, wanted.top);
    ASSERT_GE(part.box.right(), wanted.right());
    ASSERT_GE(part.box.bottom(), wanted.bottom());
    const ImageBox inside{wanted.left - part.box.left, wanted.top - part.box.top, wanted.width,
                          wanted.height};
    ASSERT_TRUE(crop_image(part.pixels, inside) == crop_image(whole.pixels, wanted))
        << chroma_width << "x" << chroma_height << " " << width << "x" << height << " window "
        << wanted.left << "," << wanted.top << " " << wanted.width << "x" << wanted.height;
  }
}

TEST(ImageReader, ViewsEqualDecodingResizingAndCroppingOneAfterAnother) {
  ImageReader reader;
  Image view, resized;
  for (int round = 0; round < 24; ++round) {
    const auto [chroma_width, chroma_height] = kSubsamplings[round % 6];
    const std::string file = encode_jpeg(busy_image(100 + 61 * round, 500 - 13 * round, round),
                                         {.chroma_width = chroma_width,
                                          .chroma_height = chroma_height,
                                          .progressive = round % 4 == 3});
    const Image plain = good(resize_short_side(good(decode_image(bytes_of(file))), 96));
    ASSERT_EQ(reason(reader.decode_center_view(bytes_of(file), {96, 84}, view)), "");
    EXPECT_TRUE(view == crop_image(plain, center_crop_box(plain.size(), 84))) << round;
    ASSERT_EQ(reason(reader.decode_resized(bytes_of(file), 96, resized)), "");
    EXPECT_TRUE(resized == plain) << round;
  }
}

TEST(ImageReader, AnElongatedImageHasACentreViewButNoWholeOne) {
  const std::string file = encode_png(random_image(20000, 1, 1));
  ImageReader reader;
  Image view;
  EXPECT_EQ(reason(reader.decode_center_view(bytes_of(file), {}, view)), "");
  EXPECT_EQ(view.size(), (ImageSize{224, 224}));
  EXPECT_THAT(reason(reader.decode_resized(bytes_of(file), 256, view)),
              ::testing::HasSubstr("elongated"));
}

TEST(ImageReader, GoesOnAfterABadImage) {
  const std::string good_file = golden_file("image3.jpg");
  ImageReader reader;
  Image first, again;
  ASSERT_EQ(reason(reader.decode_center_view(bytes_of(good_file), {}, first)), "");
  for (const std::size_t length : {3u, 100u, 700u, 9000u}) {
    EXPECT_NE(reason(reader.decode_center_view(bytes_of(good_file.substr(0, length)), {}, again)),
              "");
    ASSERT_EQ(reason(reader.decode_center_view(bytes_of(good_file), {}, again)), "");
    EXPECT_TRUE(first == again);
  }
}

TEST(ImageReader, TablesOfOneJpegAreNotLentToTheNext) {
  const std::string file = golden_file("image2.jpg");
  std::string without_table = file;
  const auto table = without_table.find("\xFF\xDB");
  without_table[table + 1] = '\xFE';  // a comment now
  ImageReader reader;
  Image view;
  ASSERT_EQ(reason(reader.decode_center_view(bytes_of(file), {}, view)), "");
  EXPECT_THAT(reason(reader.decode_center_view(bytes_of(without_table), {}, view)),
              ::testing::HasSubstr("table"));
}

TEST(ImageReader, ACropLargerThanTheShortSideIsAMistakeOfTheCaller) {
  ImageReader reader;
  Image view;
  EXPECT_THROW(reader.decode_center_view({}, {100, 101}, view), InternalError);
}

}  // namespace
}  // namespace protogcd
