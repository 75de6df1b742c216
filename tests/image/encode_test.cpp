#include "protogcd/image/encode.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/image/contact_sheet.h"
#include "tests/image/image_helpers.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;

TEST(Encode, PngReadsBackAsTheSamePixels) {
  const TemporaryFolder folder;
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{33, 7}, ImageSize{64, 64}}) {
    const Image image = random_image(size.width, size.height, 1);
    write_png(folder / "image.png", image);
    EXPECT_TRUE(good(read_image(folder / "image.png")) == image);
  }
}

TEST(Encode, SamePixelsGiveTheSameBytes) {
  const Image image = random_image(40, 30, 2);
  EXPECT_EQ(encode_png(image), encode_png(Image(image)));
}

TEST(Encode, RefusesAnEmptyImage) {
  EXPECT_THROW(encode_png(Image()), InternalError);
  EXPECT_THROW(encode_jpeg(Image()), InternalError);
}

TEST(Encode, UnwritablePathIsNamed) {
  EXPECT_THROW(write_png("/no/such/folder/x.png", Image(1, 1)), FileError);
}

TEST(ContactSheet, PlacesTilesInRowsWithAGapAndCentresSmallerOnes) {
  Image large(4, 4), small(2, 2);
  const std::vector<Image> images = {large, small, large};
  const Image sheet = contact_sheet(images, 2);
  EXPECT_EQ(sheet.size(), (ImageSize{10, 10}));
  EXPECT_EQ(sheet.at(0, 0)[0], 0);    // first tile
  EXPECT_EQ(sheet.at(4, 0)[0], 255);  // gap
  EXPECT_EQ(sheet.at(6, 0)[0], 255);  // border of the small one's tile
  EXPECT_EQ(sheet.at(7, 1)[0], 0);    // the small one
  EXPECT_EQ(sheet.at(0, 6)[0], 0);    // second row
  EXPECT_EQ(sheet.at(6, 6)[0], 255);  // no fourth image
  EXPECT_EQ(contact_sheet(images, 10).size(), (ImageSize{16, 4}));
  EXPECT_THROW(contact_sheet({}, 3), DataError);
}

}  // namespace
}  // namespace protogcd
