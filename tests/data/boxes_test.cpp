// Boxes of images, as a detector cuts them: a manifest's rows, the pixels, and the names in tables.
#include <gmock/gmock.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/data/boxed_path.h"
#include "protogcd/data/image_cache.h"
#include "protogcd/data/stored_images.h"
#include "protogcd/data/user_data.h"
#include "protogcd/image/encode.h"
#include "protogcd/image/transform.h"
#include "tests/data/layouts.h"
#include "tests/image/image_helpers.h"
#include "tests/support/error_message.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::good;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_image;
using testing::reason;
using testing::TemporaryFolder;

std::string refusal(const std::string& rows) {
  return message_of<DataError>(
      [&] { parse_manifest("path,label,x,y,width,height\n" + rows, "m.csv", "f"); });
}

TEST(Boxes, EveryRowOfAManifestIsAnImageOfItsOwn) {
  const Dataset dataset = parse_manifest(
      "x,path,y,width,height,label\n1,a.png,2,3,4,cat\n-5,a.png,2,30,4,\n,a.png,,,,dog\n", "m.csv",
      "f");
  const SourceTable& sources = dataset.sources;
  ASSERT_EQ(sources.size(), 3u);
  EXPECT_EQ(sources.path(0), "f/a.png#1,2,3,4");
  EXPECT_EQ(sources.path(1), "f/a.png#-5,2,30,4");
  EXPECT_EQ(sources.path(2), "f/a.png");
  EXPECT_EQ(sources.box(0), (ImageBox{1, 2, 3, 4}));
  EXPECT_EQ(sources.box(2), std::nullopt) << "four empty fields are the whole image";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(sources.file(i), "f/a.png");
}

TEST(Boxes, RefusesRepeatedAndBrokenOnes) {
  EXPECT_EQ(refusal("a.png,,1,2,3,4\na.png,,1,2,3,5\n"), "accepted");
  EXPECT_THAT(refusal("a.png,,1,2,3,4\nb.png,,1,2,3,4\n./a.png,,1,2,3,4\n"),
              HasSubstr("m.csv:4: './a.png' was listed before, with the same box, in line 2"));
  for (const char* box : {"1,2,3,", "1,2,0,4", "1,2,3,-4", "1.5,2,3,4", "x,2,3,4", ",,,4",
                          "9999999999,2,3,4", "2000000000,0,2000000000,1"}) {
    EXPECT_THAT(refusal("a.png,,1,2,3,4\nb.png,," + std::string(box) + "\n"),
                AllOf(HasSubstr("m.csv:3: x '"), HasSubstr("is no box")))
        << box;
  }
  EXPECT_THAT(
      message_of<DataError>([] { parse_manifest("path,label,x,y\na,b,1,2\n", "m.csv", "f"); }),
      HasSubstr("m.csv:1: a box needs all of the columns x, y, width, height"));
}

TEST(Boxes, NamesInTablesAreTakenApartAgain) {
  const auto boxed = split_boxed_path(boxed_path("a#1/b #2.png", {-1, 2, 30, 4}));
  ASSERT_TRUE(boxed);
  EXPECT_EQ(boxed->file, "a#1/b #2.png");
  EXPECT_EQ(boxed->box, (ImageBox{-1, 2, 30, 4}));
  for (const char* text :
       {"a.png", "data_batch_1.bin#17", "a#1,2,3", "a#1,2,3,4,5", "a#1,2,0,4", "a#1,,3,4", "a#"})
    EXPECT_FALSE(split_boxed_path(text)) << text;
}

/// The pixels that all readers give for a box of a file, against those cut out by hand.
void expect_cut(const std::filesystem::path& file, const ImageBox& box, const Image& by_hand) {
  SourceTable sources;
  const std::uint32_t source = sources.add_box(file, box);
  const DecodeOptions upright{.apply_orientation = true, .fast_short_side = 16};
  ResizedReader reader(sources, upright);
  EXPECT_TRUE(good(reader.read_whole(source)) == by_hand);
  StoredImages stored;
  EXPECT_TRUE(good(stored.read(sources.path(source), upright)) == by_hand);
  const Image resized = good(resize_short_side(by_hand, 32));
  Image output;
  EXPECT_EQ(reason(reader.read(source, 32, output)), "");
  EXPECT_TRUE(output == resized);
  EXPECT_EQ(reason(reader.read_center(source, {.short_side = 32, .crop = 28}, output)), "");
  EXPECT_TRUE(output == crop_image(resized, center_crop_box(resized.size(), 28)));
}

TEST(Boxes, HoldThePixelsThatCuttingByHandGives) {
  const TemporaryFolder folder;
  const Image image = random_image(50, 40, 1);
  write_png(folder / "a.png", image);
  expect_cut(folder / "a.png", {7, 9, 21, 17}, crop_image(image, {7, 9, 21, 17}));
  // What leaves the image is cut off.
  expect_cut(folder / "a.png", {-5, 30, 25, 100}, crop_image(image, {0, 30, 20, 10}));
  // Of a large photograph only a window is decoded.
  testing::put_file(folder / "b.jpg", encode_jpeg(random_image(900, 700, 2)));
  const Image photo = good(read_image(folder / "b.jpg"));
  expect_cut(folder / "b.jpg", {301, 203, 95, 77}, crop_image(photo, {301, 203, 95, 77}));
}

TEST(Boxes, CountPixelsOfTheUprightImage) {
  const TemporaryFolder folder;
  const std::string jpeg = encode_jpeg(random_image(60, 40, 3));
  const std::string turned(
      "\xFF\xE1\x00\x22"
      "Exif\0\0MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0",
      36);
  testing::put_file(folder / "a.jpg", jpeg.substr(0, 2) + turned + jpeg.substr(2));
  const Image upright = good(read_image(folder / "a.jpg", {.apply_orientation = true}));
  ASSERT_EQ(upright.size(), (ImageSize{40, 60}));
  expect_cut(folder / "a.jpg", {5, 35, 30, 20}, crop_image(upright, {5, 35, 30, 20}));
}

TEST(Boxes, OutsideOfTheImageAreBadImagesThatVerifyLists) {
  const TemporaryFolder folder;
  create_folders(folder / "images");
  write_png(folder / "images/a.png", random_image(50, 40, 1));
  testing::put_file(folder / "m.csv",
                    "path;label;x;y;width;height\nimages/a.png;cat;0;0;20;20\n"
                    "images/a.png;;20;0;20;20\nimages/a.png;;50;0;20;20\nimages/b.png;;0;0;9;9\n");
  const auto verified =
      testing::run_protogcd({"datasets", "verify", "--manifest", folder / "m.csv", "--skipped",
                             folder / "skipped.csv", "--max-bad", "50%"});
  EXPECT_EQ(verified.exit_code, 0) << verified.errors;
  const CsvTable skipped = CsvTable::read(folder / "skipped.csv");
  ASSERT_EQ(skipped.rows().size(), 2u);
  EXPECT_THAT(skipped.rows()[0].fields,
              ElementsAre("images/a.png#50,0,20,20",
                          "the box 50,0,20,20 lies outside of the image of 50x40 pixels"));
  EXPECT_THAT(skipped.rows()[1].fields, ElementsAre("images/b.png#0,0,9,9", HasSubstr("No such")));

  const auto split = testing::run_protogcd(
      {"datasets", "split", "--manifest", folder / "m.csv", "--csv", folder / "split.csv"});
  ASSERT_EQ(split.exit_code, 0) << split.errors;
  const CsvTable table = CsvTable::read(folder / "split.csv");
  ASSERT_EQ(table.rows().size(), 4u);
  EXPECT_EQ(table.rows()[1].fields[table.column("path")], "images/a.png#20,0,20,20");
}

}  // namespace
}  // namespace protogcd
