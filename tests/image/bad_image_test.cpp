// Files that are no images, or not whole ones: each becomes a reason, none a crash or a wait.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protogcd/image/encode.h"
#include "protogcd/image/image_reader.h"
#include "tests/image/image_helpers.h"
#include "tests/image/png_builder.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string decode_reason(const std::string& file, const DecodeOptions& options = {}) {
  return reason(decode_image(bytes_of(file), options));
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names = {"image2.jpg", "image8.jpg",  "image12.jpg", "image1.png",
                                    "image7.png", "image10.png", "image17.png"};
  if (kind_of_file_name("a.webp")->obstacle.empty()) {
    names.insert(names.end(), {"image15.webp", "image16.webp"});
  }
  return names;
}

TEST(BadImage, EveryTruncationGivesAReason) {
  ImageReader reader;
  Image view;
  for (const auto& name : golden_names()) {
    const std::string file = golden_file(name);
    // A PNG without its empty last chunk has all its pixels: fine with Pillow, and here.
    const std::size_t needed = file.size() - (name.ends_with("png") ? 12 : 0);
    const std::size_t step = std::max<std::size_t>(1, needed / 150);
    for (std::size_t length = 0; length < needed; length += step) {
      const std::string cut = file.substr(0, length);
      EXPECT_NE(decode_reason(cut), "") << name << " cut to " << length;
      EXPECT_NE(reason(reader.decode_center_view(bytes_of(cut), {}, view)), "")
          << name << " cut to " << length;
    }
    for (std::size_t left_out = 1; left_out < 12; ++left_out) {
      const std::string cut = file.substr(0, needed - left_out);
      EXPECT_NE(decode_reason(cut), "") << name << " without its last " << left_out;
      EXPECT_NE(reason(reader.decode_center_view(bytes_of(cut), {}, view)), "")
          << name << " without its last " << left_out;
    }
    EXPECT_EQ(decode_reason(file.substr(0, needed)), "") << name;
    EXPECT_EQ(reason(reader.decode_center_view(bytes_of(file), {}, view)), "") << name;
  }
}

TEST(BadImage, TruncationIsCalledThat) {
  for (const auto& name : golden_names()) {
    const std::string file = golden_file(name);
    EXPECT_THAT(decode_reason(file.substr(0, file.size() / 2)), HasSubstr("truncated")) << name;
  }
}

TEST(BadImage, DamagedBytesNeverCrashAndEveryWayOfReadingAgrees) {
  RandomStream stream({.seed = 5});
  const DecodeOptions options{.max_pixels = 1'000'000};
  ImageReader reader(options);
  Image view;
  for (const auto& name : golden_names()) {
    const std::string file = golden_file(name);
    for (int round = 0; round < 60; ++round) {
      std::string damaged = file;
      for (int i = 0; i < 3; ++i) {
        damaged[stream.below(damaged.size())] = static_cast<char>(stream.next_word());
      }
      const auto bad = reader.decode_center_view(bytes_of(damaged), {64, 56}, view);
      const auto whole = decode_image(bytes_of(damaged), options);
      ASSERT_EQ(reason(bad), reason(whole)) << name << " round " << round;
      if (bad) continue;
      const Image& image = std::get<Image>(whole);
      const auto target = size_with_short_side(image.size(), 64).value();
      ASSERT_TRUE(view == resize_and_crop(image, target, center_crop_box(target, 56)))
          << name << " round " << round;
    }
  }
}

TEST(BadImage, WhatIsNoImageIsNamed) {
  EXPECT_EQ(decode_reason(""), "empty file");
  EXPECT_THAT(decode_reason("\n <!DOCTYPE html><html>404</html>"), HasSubstr("HTML"));
  EXPECT_THAT(decode_reason("8BPS........"), HasSubstr("Photoshop"));
  EXPECT_THAT(decode_reason(std::string("\0\0\0\14jP  \r\n", 10)), HasSubstr("JPEG 2000"));
  EXPECT_THAT(decode_reason("\xFF\x0A.........."), HasSubstr("JPEG XL"));
  EXPECT_THAT(decode_reason(std::string("\0\0\0\30ftypheic....", 16)), HasSubstr("HEIC"));
  EXPECT_THAT(decode_reason(std::string("\0\0\0\30ftypisom....", 16)), HasSubstr("video"));
  EXPECT_THAT(decode_reason("some text"), HasSubstr("not an image of a known format (jpeg, png"));
}

TEST(BadImage, ChecksumErrorsInPngAreBad) {
  std::string file = golden_file("image1.png");
  file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 1);
  EXPECT_THAT(decode_reason(file), HasSubstr("damaged PNG"));
}

// As Pillow: a flipped bit gives an image with a scar, not an error.
TEST(BadImage, WarningsOfJpegAreTolerated) {
  std::string file = golden_file("image3.jpg");
  file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 0x55);
  EXPECT_EQ(decode_reason(file), "");
  const std::string whole = golden_file("image3.jpg");
  EXPECT_EQ(decode_reason(whole.substr(0, whole.size() - 3000) + "\xFF\xD9"), "");
  EXPECT_EQ(decode_reason(whole + "trailing bytes"), "");
}

TEST(Limits, PixelsAreCountedBeforeDecoding) {
  for (const auto& name : golden_names()) {
    const std::string file = golden_file(name);
    const auto size = good(decode_image(bytes_of(file))).size();
    EXPECT_THAT(decode_reason(file, {.max_pixels = size.pixels() - 1}), HasSubstr("limit")) << name;
    EXPECT_EQ(decode_reason(file, {.max_pixels = size.pixels()}), "") << name;
  }
  const std::string bomb = build_png({.width = 2'000'000'000, .height = 2'000'000'000}, "x");
  EXPECT_THAT(decode_reason(bomb), HasSubstr("more than the limit"));
}

TEST(Limits, APngThatCannotHoldItsPixelsIsRefusedBeforeTheyAreAllocated) {
  const std::string liar = build_png({.width = 13000, .height = 13000}, "x");
  EXPECT_THAT(decode_reason(liar), HasSubstr("cannot hold 13000x13000"));
}

TEST(Limits, JpegScansAreCounted) {
  const std::string file = encode_jpeg(random_image(40, 40, 1), {.progressive = true});
  EXPECT_EQ(decode_reason(file), "");
  EXPECT_EQ(decode_reason(file, {.max_scans = 3}), "too many JPEG scans");
}

TEST(Limits, ScansOverVeryManyPixelsAreFewer) {
  std::string file = encode_jpeg(random_image(40, 40, 1), {.progressive = true});
  // A scan of nothing new again and again, as far as the decoder looks at it.
  const std::size_t last = file.rfind("\xFF\xDA");
  const std::string scan = file.substr(last, file.size() - 2 - last);
  for (int i = 0; i < 20; ++i) file.insert(file.size() - 2, scan);
  EXPECT_EQ(decode_reason(file, {.max_pixels = 40 * 40 * 10}), "");
  EXPECT_EQ(decode_reason(file, {.max_pixels = 40 * 40}), "too many JPEG scans");
}

TEST(Limits, ASideIsNeverLongerThanAMillion) {
  const std::string line = build_png({.width = 1'000'001, .height = 1}, std::string(4 << 20, '\0'));
  EXPECT_THAT(decode_reason(line), HasSubstr("1000001x1 pixels, a side longer than 1000000"));
}

TEST(Limits, TextAndProfilesOfAPngAreNotUnpacked) {
  // 256 MiB of zeros, packed bit by bit so that they are nowhere else.
  std::string zeros(1 << 20, '\0'), packed(1 << 19, '\0');
  z_stream stream{};
  ASSERT_EQ(deflateInit(&stream, 9), Z_OK);
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  for (int i = 0; i < 256; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
    stream.avail_in = static_cast<uInt>(zeros.size());
    deflate(&stream, i == 255 ? Z_FINISH : Z_NO_FLUSH);
  }
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  const std::string name("a\0\0", 3);
  const std::string file = build_png(
      {.before_data = png_chunk("zTXt", name + packed) + png_chunk("iCCP", name + packed) +
                      png_chunk("iTXt", std::string("a\0\1\0\0\0", 6) + packed)},
      std::string("\0\x7F", 2));
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(decode_reason(file), "");
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
}

TEST(Limits, HeicOfNestedOrOverlaidImagesIsRefused) {
  if (!kind_of_file_name("a.heic")->obstacle.empty()) GTEST_SKIP() << "built without libheif";
  const auto number = [](std::uint32_t value, int bytes) {
    return png_number(value).substr(static_cast<std::size_t>(4 - bytes));
  };
  const auto box = [](const std::string& name, const std::string& content) {
    return png_number(static_cast<std::uint32_t>(8 + content.size())) + name + content;
  };
  // Image 1 is made of image 2, twice.
  const auto file = [&](const std::string& kind, const std::string& part, bool wide) {
    const int id = wide ? 4 : 2;
    const auto item = [&](std::uint32_t which, const std::string& type) {
      return box("infe", number(wide ? 3 : 2, 1) + number(0, 3) + number(which, id) + number(0, 2) +
                             type + number(0, 1));
    };
    const std::string items = box("iinf", number(wide, 1) + number(0, 3) + number(2, wide ? 4 : 2) +
                                              item(1, kind) + item(2, part));
    const std::string made =
        box("iref", number(wide, 1) + number(0, 3) +
                        box("dimg", number(1, id) + number(2, 2) + number(2, id) + number(2, id)));
    return box("ftyp", "heic" + number(0, 4) + "mif1heic") +
           box("meta", number(0, 4) + items + made);
  };
  for (const bool wide : {false, true}) {
    EXPECT_THAT(decode_reason(file("grid", "grid", wide)), HasSubstr("overlaid or nested"));
    EXPECT_THAT(decode_reason(file("iden", "iden", wide)), HasSubstr("overlaid or nested"));
    EXPECT_THAT(decode_reason(file("iovl", "hvc1", wide)), HasSubstr("overlaid or nested"));
    EXPECT_THAT(decode_reason(file("grid", "hvc1", wide)), Not(HasSubstr("overlaid or nested")));
  }
}

TEST(Limits, PartsThatAHeicOnlyClaimsTakeNoMemory) {
  if (!kind_of_file_name("a.heic")->obstacle.empty()) GTEST_SKIP() << "built without libheif";
  const auto box = [](const std::string& name, const std::string& content) {
    return png_number(static_cast<std::uint32_t>(8 + content.size())) + name + content;
  };
  const std::string zeros(4, '\0');
  const auto file = [&](const std::string& made) {
    return box("ftyp", "heic" + zeros + "mif1heic") +
           box("meta", zeros + box("iref", zeros + made));
  };
  std::string claims, parts;
  for (int i = 0; i < 300; ++i) claims += box("dimg", std::string("\0\1\xFF\xFF", 4));
  for (int i = 0; i < 300; ++i)
    parts += box("dimg", std::string("\0\1\1\0", 4) + std::string(512, '\0'));
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_NE(decode_reason(file(claims)), "");
  EXPECT_THAT(decode_reason(file(parts)), HasSubstr("more than 65536 parts"));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
}

TEST(Limits, FileSizeIsChecked) {
  const TemporaryFolder folder;
  write_png(folder / "a.png", random_image(20, 20, 1));
  EXPECT_THAT(reason(read_image(folder / "a.png", {.max_file_bytes = 100})), HasSubstr("limit"));
  EXPECT_EQ(reason(read_image(folder / "a.png")), "");
  // Bytes that are in memory already, as those of a file in an archive.
  const std::string bytes = read_text_file(folder / "a.png");
  EXPECT_THAT(reason(decode_image(bytes_of(bytes), {.max_file_bytes = 100})), HasSubstr("limit"));
  Image view;
  EXPECT_THAT(reason(ImageReader({.max_file_bytes = 100}).decode_resized(bytes_of(bytes), 8, view)),
              HasSubstr("limit"));
}

TEST(ReadImage, FoldersPipesAndMissingFilesAreReasonsAndNobodyWaits) {
  const TemporaryFolder folder;
  EXPECT_THAT(reason(read_image(folder / "none.jpg")), HasSubstr("No such file"));
  EXPECT_EQ(reason(read_image(folder.path())), "a folder, not a file");
  ASSERT_EQ(::mkfifo((folder / "pipe.jpg").c_str(), 0600), 0);
  EXPECT_EQ(reason(read_image(folder / "pipe.jpg")), "a named pipe, not a file");
  EXPECT_EQ(reason(read_image("/dev/zero")), "a device, not a file");
  write_file_atomically(folder / "empty.png", "");
  EXPECT_EQ(reason(read_image(folder / "empty.png")), "empty file");
}

TEST(ReadImage, UnreadableFilesAreReasons) {
  const TemporaryFolder folder;
  write_png(folder / "a.png", Image(2, 2));
  ::chmod((folder / "a.png").c_str(), 0);
  ::chmod(folder.path().c_str(), 0755);
  // Root may read everything, so that the reading is done as somebody else.
  const bool is_root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  if (is_root && ::seteuid(kNobody) != 0) FAIL() << "cannot become nobody";
  const std::string found = reason(read_image(folder / "a.png"));
  if (is_root && ::seteuid(0) != 0) FAIL() << "cannot become root again";
  EXPECT_EQ(found, "cannot open: Permission denied");
}

TEST(ReadImage, FormatIsFoundFromTheContent) {
  const TemporaryFolder folder;
  const Image image = random_image(9, 5, 1);
  write_file_atomically(folder / "wrong.jpg", encode_png(image));
  EXPECT_TRUE(good(read_image(folder / "wrong.jpg")) == image);
}

}  // namespace
}  // namespace protogcd
