// Every kind of BMP, GIF, TIFF, HEIC and AVIF in tests/fixtures/images against the pixels beside it
// (make_images.py, by Pillow), and what damaged or hostile files of these formats do.
#include "protogcd/image/formats.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "protogcd/image/exif.h"
#include "protogcd/image/image_reader.h"
#include "protogcd/image/image_size.h"
#include "protogcd/image/tiff_directory.h"
#include "tests/image/image_helpers.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;
using ::testing::Contains;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

fs::path fixture(const std::string& name) {
  return fs::path(source_folder()) / "tests/fixtures/images" / name;
}

bool is_read(const fs::path& path) {
  const ImageKind* kind = kind_of_file_name(path.filename().string());
  return kind != nullptr && kind->obstacle.empty();
}

/// The files of one of these kinds, without the pixels beside them, as far as this build reads
/// them.
std::vector<fs::path> fixtures(std::initializer_list<std::string_view> extensions) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fixture(""))) {
    const std::string extension = lower_extension(entry.path().filename().string());
    if (std::ranges::find(extensions, extension) != extensions.end() && is_read(entry.path())) {
      paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

int largest_difference(const Image& a, const Image& b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i)
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

TEST(Formats, BmpGifAndTiffDecodeToPillowsBytes) {
  std::map<std::string, int> compared;
  for (const auto& path : fixtures({"bmp", "gif", "tif"})) {
    const Image image = good(read_image(path));
    const Image expected = good(read_image(path.string() + ".png"));
    EXPECT_EQ(image.size(), expected.size()) << path;
    EXPECT_EQ(largest_difference(image, expected), 0) << path;
    ++compared[lower_extension(path.string())];
  }
  EXPECT_EQ(compared["bmp"], 17);
  EXPECT_EQ(compared["gif"], 13);
  EXPECT_EQ(compared["tif"], is_read("a.tif") ? 49 : 0);
}

// The pixels beside them are by other versions of libheif and, of AVIF, by libavif, which spreads
// colours that are stored at half the size by another formula.
TEST(Formats, HeicAndAvifAreWithinRoundingOfTheSameFilesReadByPillow) {
  for (const auto& path : fixtures({"heic", "avif"})) {
    const int most = path.filename() == "photo.avif" ? 6 : 1;
    const Image expected = good(read_image(path.string() + ".png"));
    EXPECT_LE(largest_difference(good(read_image(path)), expected), most) << path;
  }
}

TEST(Formats, ATruncatedFileGivesAReasonOrAllItsPixels) {
  ImageReader reader;
  Image view;
  for (const auto& path : fixtures({"bmp", "gif", "tif", "heic", "avif"})) {
    const std::string file = read_text_file(path);
    const Image whole = good(decode_image(bytes_of(file)));
    int called_truncated = 0;
    for (std::size_t length = 1; length < file.size(); ++length) {
      const std::string cut = file.substr(0, length);
      const auto result = decode_image(bytes_of(cut));
      // What is missing may be no pixels: a last block, a second page, a thumbnail.
      if (const auto* image = std::get_if<Image>(&result)) {
        EXPECT_TRUE(*image == whole) << path << " cut to " << length;
      } else {
        EXPECT_NE(reason(result), "") << path << " cut to " << length;
      }
      if (reason(result).starts_with("truncated")) ++called_truncated;
    }
    EXPECT_GT(called_truncated, 0) << path;
  }
}

TEST(Formats, DamagedBytesNeverCrash) {
  RandomStream stream({.seed = 6});
  const DecodeOptions options{.max_pixels = 100'000};
  for (const auto& path : fixtures({"bmp", "gif", "tif", "heic", "avif"})) {
    const std::string file = read_text_file(path);
    for (int round = 0; round < 40; ++round) {
      std::string damaged = file;
      for (int i = 0; i < 3; ++i)
        damaged[stream.below(damaged.size())] = static_cast<char>(stream.next_word());
      const auto result = decode_image(bytes_of(damaged), options);
      if (const auto* image = std::get_if<Image>(&result)) {
        EXPECT_LE(image->size().pixels(), options.max_pixels) << path;
      } else {
        EXPECT_NE(reason(result), "") << path;
      }
    }
  }
}

TEST(Formats, PixelsAreCountedBeforeDecoding) {
  for (const auto& path : fixtures({"bmp", "gif", "tif", "heic", "avif"})) {
    const std::string file = read_text_file(path);
    const std::int64_t pixels = good(decode_image(bytes_of(file))).size().pixels();
    EXPECT_THAT(reason(decode_image(bytes_of(file), {.max_pixels = pixels - 1})),
                HasSubstr("limit"))
        << path;
  }
}

TEST(Formats, SizesInHeadersAreWhatDecodingGives) {
  for (const auto& path : fixtures({"bmp", "gif", "tif", "heic", "avif"})) {
    const std::string file = read_text_file(path);
    const auto stored = image_size(bytes_of(file));
    ASSERT_TRUE(stored) << path;
    ImageSize size = good(decode_image(bytes_of(file))).size();
    const int orientation = exif_orientation(bytes_of(file), detect_image_format(bytes_of(file)));
    const bool turned = orientation >= 5 || path.filename() == "turned.heic";
    if (turned) std::swap(size.width, size.height);
    if (path.filename() == "beyond_canvas.gif") continue;  // the frame makes the canvas larger
    // HEVC stores whole blocks of up to 64 pixels and says apart what is cut off.
    const int block = detect_image_format(bytes_of(file)) == ImageFormat::kHeif ? 64 : 1;
    EXPECT_TRUE(stored->width >= size.width && stored->width < size.width + block) << path;
    EXPECT_TRUE(stored->height >= size.height && stored->height < size.height + block) << path;
    for (std::size_t length = 0; length < file.size(); ++length)
      image_size(bytes_of(file).first(length));  // an address sanitizer sees a byte too many
  }
}

TEST(Formats, EveryFormatIsKnownByItsFirstBytes) {
  const std::map<std::string, ImageFormat> formats = {{"bmp", ImageFormat::kBmp},
                                                      {"gif", ImageFormat::kGif},
                                                      {"tif", ImageFormat::kTiff},
                                                      {"heic", ImageFormat::kHeif},
                                                      {"avif", ImageFormat::kHeif}};
  for (const auto& entry : fs::directory_iterator(fixture(""))) {
    const auto format = formats.find(lower_extension(entry.path().filename().string()));
    if (format == formats.end()) continue;
    const std::string file = read_text_file(entry.path());
    EXPECT_EQ(detect_image_format(bytes_of(file)), format->second) << entry.path();
    if (!is_read(entry.path())) {
      EXPECT_THAT(reason(decode_image(bytes_of(file))), HasSubstr("this build does not read"));
    }
  }
}

TEST(Formats, KindsAreKnownByExtensionInAnyCase) {
  for (const char* name : {"a.jpg", "a.JPEG", "a.b.Png", "a.Bmp", "a.gif"}) {
    EXPECT_EQ(kind_of_file_name(name)->obstacle, "") << name;
  }
  for (const char* name : {"a.webp", "a.tif", "a.TIFF", "a.heic", "a.heif", "a.avif"}) {
    EXPECT_NE(kind_of_file_name(name), nullptr) << name;
  }
  for (const char* name :
       {"a.CR2", "a.nef", "a.dng", "a.psd", "a.svg", "a.jp2", "a.jxl", "a.czi"}) {
    EXPECT_THAT(kind_of_file_name(name)->obstacle, HasSubstr("export it as JPEG")) << name;
  }
  for (const char* name : {"jpg", ".jpg", "a.jpg.txt", "a.", "a.csv"}) {
    EXPECT_EQ(kind_of_file_name(name), nullptr) << name;
  }
  EXPECT_THAT(supported_image_formats(), Contains("bmp"));
  EXPECT_THAT(supported_extensions(), HasSubstr("jpg, jpeg, png, bmp, gif"));
}

TEST(TiffPages, OnlyFurtherPicturesCount) {
  EXPECT_TRUE(has_several_tiff_pages(fixture("three_pages.tif")));
  EXPECT_FALSE(has_several_tiff_pages(fixture("raw.tif")));
  EXPECT_FALSE(has_several_tiff_pages(fixture("bigtiff.tif")));
  EXPECT_FALSE(has_several_tiff_pages(fixture("grey.bmp")));
  EXPECT_FALSE(has_several_tiff_pages("/no/such/file.tif"));
}

}  // namespace
}  // namespace protogcd
