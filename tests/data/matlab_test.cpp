// Files written by scipy: tests/data/files and fuzz/corpus/mat.
#include "protogcd/data/matlab.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/data/cifar.h"
#include "tests/data/layouts.h"
#include "tests/support/error_message.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path seed(const std::string& name) {
  return std::filesystem::path(testing::source_folder()) / "fuzz/corpus/mat" / name;
}

std::string message_for(const std::string& bytes) {
  return testing::message_of<DataError>(
      [&] { MatlabFile(std::as_bytes(std::span(bytes)), "x.mat"); });
}

TEST(Matlab, ReadsCarAnnotationsPlainAndCompressed) {
  for (const char* name : {"cars.mat", "cars-packed.mat"}) {
    const MatlabFile file(seed(name));
    const MatlabArray& records = file.at("annotations");
    ASSERT_EQ(records.element_count(), 3u);
    EXPECT_THAT(records.fields,
                ElementsAre("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "fname"));
    EXPECT_EQ(records.field(0, "fname")->text, "00001.jpg");
    EXPECT_EQ(records.field(2, "fname")->text, "00003.jpg");
    EXPECT_EQ(records.field(1, "colour"), nullptr);
    EXPECT_EQ(records.field(3, "fname"), nullptr);
  }
}

TEST(Matlab, ReadsNumbersAndTextOfManyTypes) {
  const MatlabFile file(seed("mixed.mat"));
  EXPECT_THAT(file.at("a").numbers, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(file.at("i").numbers, ElementsAre(-5));
  EXPECT_EQ(file.at("t").text, "h\xC3\xA9llo");
  EXPECT_THAT(file.at("s").dimensions, ElementsAre(2, 2));
  EXPECT_EQ(file.at("c").kind, MatlabArray::Kind::kOther) << "complex numbers are passed over";
  EXPECT_EQ(file.at("cell").kind, MatlabArray::Kind::kOther);
  EXPECT_THROW(file.at("nothing"), DataError);
}

TEST(Matlab, SvhnImagesStandUprightAndTenMeansZero) {
  const testing::TemporaryFolder folder;
  std::filesystem::copy_file(testing::test_file("svhn.mat"), folder / "test_32x32.mat");
  const auto file = open_svhn(folder.path());
  EXPECT_THAT(file->labels, ElementsAre(0, 7, 1));
  // As numpy indexes the array that was written: X[row, column, channel, image].
  EXPECT_EQ(file->load(1).at(9, 4)[2], 72);
  EXPECT_EQ(file->load(2).at(0, 31)[0], 64);
  EXPECT_EQ(file->load(0).at(31, 0)[1], 210);
}

TEST(Matlab, RefusesEveryTruncationOfCompressedAndPlainFiles) {
  for (const char* name : {"cars.mat", "cars-packed.mat", "svhn.mat"}) {
    const std::string bytes = read_text_file(seed(name));
    ASSERT_EQ(message_for(bytes), "accepted") << name;
    std::size_t accepted = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::string message = message_for(bytes.substr(0, length));
      if (message == "accepted") {
        ++accepted;  // between two arrays, or within the padding after the last
      } else {
        EXPECT_THAT(message, HasSubstr("x.mat"));
      }
    }
    EXPECT_LE(accepted, 8u) << name;
  }
}

TEST(Matlab, SaysWhatANewerFileIs) {
  EXPECT_THAT(message_for("MATLAB 7.3 MAT-file" + std::string(200, ' ')), HasSubstr("v7.3"));
  EXPECT_THAT(message_for("hello"), HasSubstr("not a (little-endian) MATLAB v5 file"));
}

TEST(Matlab, AClaimOfSizeAloneAllocatesNothing) {
  std::string bytes = read_text_file(seed("svhn.mat"));
  // X's dimensions follow its flags: 128 header, 8 tag, 16 flags, 8 tag.
  bytes.replace(128 + 8 + 16 + 8, 16, "\xff\xff\xff\x7f\xff\xff\xff\x7f\x03\0\0\0\x02\0\0\0", 16);
  EXPECT_NE(message_for(bytes), "accepted");
}

}  // namespace
}  // namespace protogcd
