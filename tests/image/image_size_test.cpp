// Sizes from headers: the same as decoding gives, and nothing for what is damaged.
#include "protogcd/image/image_size.h"

#include <gtest/gtest.h>

#include "protogcd/core/files.h"
#include "protogcd/image/decode.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(const fs::path& path) {
  std::vector<std::byte> bytes;
  EXPECT_FALSE(read_image_file(path, 1U << 30, bytes));
  return bytes;
}

std::vector<fs::path> golden_images() {
  std::vector<fs::path> images;
  for (const auto& entry : fs::directory_iterator(testing::golden_folder())) {
    const auto ending = entry.path().extension();
    if (ending == ".png" || ending == ".jpg" || ending == ".webp") images.push_back(entry.path());
  }
  return images;
}

TEST(ImageSizeOfHeader, IsWhatDecodingGives) {
  int compared = 0;
  for (const auto& path : golden_images()) {
    const auto decoded = read_image(path);
    if (!std::holds_alternative<Image>(decoded)) continue;  // WebP, where the build has none
    EXPECT_EQ(image_size(bytes_of(path)), std::get<Image>(decoded).size()) << path;
    ++compared;
  }
  EXPECT_GE(compared, 15);
}

TEST(ImageSizeOfHeader, ACutOffHeaderHasNoneAndIsNotReadBeyondItsEnd) {
  for (const auto& path : golden_images()) {
    const auto whole = bytes_of(path);
    for (std::size_t length = 0; length < std::min<std::size_t>(whole.size(), 700); ++length) {
      const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<long>(length));
      const auto size = image_size(cut);  // an address sanitizer sees a byte too many
      EXPECT_TRUE(!size || size == image_size(whole)) << path << " cut to " << length;
    }
    EXPECT_EQ(image_size(std::span(whole).first(12)), std::nullopt) << path;
  }
}

TEST(ImageSizeOfHeader, OtherFilesHaveNone) {
  const std::string text = "P6 12 12 255 ................";
  EXPECT_EQ(image_size(std::as_bytes(std::span(text))), std::nullopt);
  EXPECT_EQ(image_size({}), std::nullopt);
}

}  // namespace
}  // namespace protogcd
