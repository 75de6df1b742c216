// Kinds of files that the golden images do not cover. Expected numbers were printed by Pillow 13
// unless said otherwise.
#include "protogcd/image/decode.h"

#include <gmock/gmock.h>

#include "protogcd/image/encode.h"
#include "protogcd/image/image_reader.h"
#include "tests/image/image_helpers.h"
#include "tests/image/png_builder.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;
using ::testing::ElementsAre;

std::vector<std::uint8_t> pixels_of(const std::string& file) {
  return good(decode_image(bytes_of(file))).pixels;
}

std::vector<std::uint8_t> first(std::vector<std::uint8_t> values, std::size_t count) {
  values.resize(count);
  return values;
}

TEST(DecodeJpeg, YcckIsConvertedAsPillowDoes) {
  std::string file = golden_file("image8.jpg");
  const auto adobe = file.find("Adobe");
  ASSERT_EQ(file[adobe + 11], 0);  // the golden file is plain CMYK
  file[adobe + 11] = 2;
  const auto pixels = pixels_of(file);
  EXPECT_THAT(first(pixels, 12), ElementsAre(100, 17, 0, 150, 8, 0, 84, 12, 0, 114, 7, 0));
  std::int64_t sum = 0, weighted = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    sum += pixels[i];
    weighted += static_cast<std::int64_t>(pixels[i] * (i % 1009));
  }
  EXPECT_EQ(sum, 11950612);
  EXPECT_EQ(weighted, 6011716256);
}

TEST(DecodeJpeg, CmykWithoutAdobesMarkerIsTakenAsInvertedToo) {
  const std::string file = golden_file("image8.jpg");
  const auto adobe = file.find("Adobe");
  const std::size_t length = std::uint8_t(file[adobe - 2]) * 256 + std::uint8_t(file[adobe - 1]);
  const std::string without = file.substr(0, adobe - 4) + file.substr(adobe - 2 + length);
  EXPECT_TRUE(pixels_of(without) == pixels_of(file));
}

TEST(DecodeJpeg, FastDecodingKeepsTheShortSideWanted) {
  const std::string file = encode_jpeg(random_image(803, 611, 1));
  const auto size_at = [&](int wanted) {
    return good(decode_image(bytes_of(file), {.fast_short_side = wanted})).size();
  };
  EXPECT_EQ(size_at(0), (ImageSize{803, 611}));
  EXPECT_EQ(size_at(76), (ImageSize{101, 77}));
  EXPECT_EQ(size_at(78), (ImageSize{201, 153}));
  EXPECT_EQ(size_at(256), (ImageSize{402, 306}));
  EXPECT_EQ(size_at(307), (ImageSize{803, 611})) << "5/8 would be slower than all of it";
  EXPECT_EQ(size_at(611), (ImageSize{803, 611}));
  EXPECT_EQ(size_at(5000), (ImageSize{803, 611}));
}

TEST(DecodeJpeg, FastDecodingIsCloseToTheExactView) {
  Image smooth(800, 600);
  for (int y = 0; y < 600; ++y) {
    for (int x = 0; x < 800; ++x) {
      smooth.at(x, y)[0] = static_cast<std::uint8_t>(x / 4);
      smooth.at(x, y)[1] = static_cast<std::uint8_t>(y / 3);
      smooth.at(x, y)[2] = static_cast<std::uint8_t>((x + y) / 6);
    }
  }
  const std::string file = encode_jpeg(smooth);
  Image exact, fast;
  ASSERT_EQ(reason(ImageReader().decode_center_view(bytes_of(file), {64, 56}, exact)), "");
  ImageReader reader({.fast_short_side = 64});
  ASSERT_EQ(reason(reader.decode_center_view(bytes_of(file), {64, 56}, fast)), "");
  for (std::size_t i = 0; i < exact.pixels.size(); ++i) {
    ASSERT_NEAR(exact.pixels[i], fast.pixels[i], 4) << i;
  }
}

TEST(DecodePng, SmallDepthsAreExpanded) {
  EXPECT_THAT(pixels_of(build_png({.width = 4, .depth = 2}, std::string("\0\x1B", 2))),
              ElementsAre(0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255));
  EXPECT_THAT(pixels_of(build_png({.width = 4, .depth = 4}, std::string("\0\x1B\xF0", 3))),
              ElementsAre(17, 17, 17, 187, 187, 187, 255, 255, 255, 0, 0, 0));
}

TEST(DecodePng, IndicesOutsideThePaletteAreBlack) {
  const PngKind kind{
      .width = 4, .colour = 3, .before_data = png_chunk("PLTE", "\x0A\x14\x1E\x28\x32\x3C")};
  EXPECT_THAT(pixels_of(build_png(kind, std::string("\0\0\1\2\xC8", 5))),
              ElementsAre(10, 20, 30, 40, 50, 60, 0, 0, 0, 0, 0, 0));
}

TEST(DecodePng, TransparentColoursStayVisible) {
  const PngKind kind{.width = 2, .before_data = png_chunk("tRNS", std::string("\0\1", 2))};
  EXPECT_THAT(pixels_of(build_png(kind, std::string("\0\1\2", 3))), ElementsAre(1, 1, 1, 2, 2, 2));
}

// Ours, not Pillow's: (v * 255 + 32767) / 65535 for all 65536 values, grey and coloured.
TEST(DecodePng, SixteenBitsAreScaledNotClipped) {
  std::string grey, coloured;
  for (int y = 0; y < 256; ++y) {
    grey += '\0';
    coloured += '\0';
    for (int x = 0; x < 256; ++x) {
      const std::string sample = {static_cast<char>(y), static_cast<char>(x)};
      grey += sample;
      coloured += sample + sample + sample;
    }
  }
  const PngKind kind{.width = 256, .height = 256, .depth = 16};
  PngKind coloured_kind = kind;
  coloured_kind.colour = 2;
  const auto from_grey = pixels_of(build_png(kind, grey));
  EXPECT_TRUE(from_grey == pixels_of(build_png(coloured_kind, coloured)));
  for (std::int64_t value = 0; value < 65536; ++value) {
    ASSERT_EQ(from_grey[3 * value], (value * 255 + 32767) / 65535) << value;
  }
}

TEST(DecodePng, InterlacedFilesGiveTheSamePixels) {
  // Adam7 of 3x3 grey: passes 1 (0,0); 4 none of column 2's (pass 4 has x=2,y=0); 5 row 2; 6 column
  // 1; 7 row 1.
  const std::string rows(
      "\0\x01"           // pass 1: (0,0)
      "\0\x03"           // pass 4: (2,0)
      "\0\x07\x09"       // pass 5: (0,2) (2,2)
      "\0\x02\0\x08"     // pass 6: (1,0), (1,2)
      "\0\x04\x05\x06",  // pass 7: row 1
      15);
  const auto pixels = pixels_of(build_png({.width = 3, .height = 3, .interlaced = 1}, rows));
  for (int i = 0; i < 9; ++i) EXPECT_EQ(pixels[3 * i], i + 1);
}

TEST(DecodePng, AFileWithoutItsEmptyLastChunkIsWhole) {
  const std::string file = build_png({.width = 2}, std::string("\0\1\2", 3));
  EXPECT_THAT(pixels_of(file.substr(0, file.size() - 12)), ElementsAre(1, 1, 1, 2, 2, 2));
}

TEST(DecodeWebp, OfAnAnimationTheFirstFrameIsRead) {
  if (!kind_of_file_name("a.webp")->obstacle.empty()) GTEST_SKIP() << "built without WebP";
  // Two lossless frames of 16x12, filled with (200, 0, 30) and (200, 60, 30).
  const std::uint8_t bytes[] = {
      0x52, 0x49, 0x46, 0x46, 0x86, 0x00, 0x00, 0x00, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38,
      0x58, 0x0A, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x0F, 0x00, 0x00, 0x0B, 0x00, 0x00,
      0x41, 0x4E, 0x49, 0x4D, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x41,
      0x4E, 0x4D, 0x46, 0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0F, 0x00,
      0x00, 0x0B, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x56, 0x50, 0x38, 0x4C, 0x10, 0x00, 0x00,
      0x00, 0x2F, 0x0F, 0xC0, 0x02, 0x00, 0x07, 0x10, 0x45, 0xAE, 0x47, 0xFF, 0x03, 0x11, 0xD1,
      0xFF, 0x00, 0x41, 0x4E, 0x4D, 0x46, 0x2A, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x0F, 0x00, 0x00, 0x0B, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x56, 0x50, 0x38, 0x4C,
      0x11, 0x00, 0x00, 0x00, 0x2F, 0x0F, 0xC0, 0x02, 0x00, 0x07, 0x50, 0x9E, 0x22, 0xD7, 0xA3,
      0xFF, 0x81, 0x88, 0xE8, 0x7F, 0x00, 0x00};
  const std::string file(reinterpret_cast<const char*>(bytes), sizeof bytes);
  const Image image = good(decode_image(bytes_of(file)));
  EXPECT_EQ(image.size(), (ImageSize{16, 12}));
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    ASSERT_THAT(std::vector<int>(image.pixels.begin() + i, image.pixels.begin() + i + 3),
                ElementsAre(200, 0, 30));
  }
}

}  // namespace
}  // namespace protogcd
