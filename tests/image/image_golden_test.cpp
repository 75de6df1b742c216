// Decoding and preprocessing against Pillow's bytes.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "protogcd/image/image_reader.h"
#include "protogcd/image/transform.h"
#include "tests/image/image_helpers.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;

class GoldenImage : public ::testing::Test {
 protected:
  template <class Check>
  void for_each_image(Check check) {
    const SafetensorsFile tensors(golden_folder() / "images.safetensors");
    const auto list = golden_json().at("images");
    ASSERT_EQ(list.size(), 19u);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto file = list[i].at("file").get<std::string>();
      if (file.ends_with(".webp") && !kind_of_file_name("a.webp")->obstacle.empty()) continue;
      SCOPED_TRACE(file);
      const auto rgb = values_of<std::uint8_t>(tensors.at(fmt::format("image{}.rgb", i)));
      const auto view =
          values_of<std::uint8_t>(tensors.at(fmt::format("image{}.resize256_center224", i)));
      const ImageSize size{list[i].at("w").get<int>(), list[i].at("h").get<int>()};
      check(golden_folder() / file, size, rgb, view);
    }
  }
};

using Values = std::vector<std::uint8_t>;

TEST_F(GoldenImage, DecodesToPillowsBytes) {
  for_each_image([](const auto& path, ImageSize size, const Values& rgb, const Values&) {
    const Image image = good(read_image(path));
    EXPECT_EQ(image.size(), size);
    EXPECT_TRUE(image.pixels == rgb);
  });
}

TEST_F(GoldenImage, ResizesAndCropsToPillowsBytesWithEveryKernel) {
  for_each_image([](const auto& path, ImageSize, const Values&, const Values& view) {
    const Image image = good(read_image(path));
    const auto target = size_with_short_side(image.size(), 256).value();
    const ImageBox crop = center_crop_box(target, 224);
    for (const auto kernel : available_resample_kernels()) {
      Image output;
      Resizer(kernel).resize(image, image.size(), {0, 0, image.width, image.height}, target, crop,
                             output);
      EXPECT_TRUE(output.pixels == view) << resample_kernel_name(kernel);
    }
  });
}

TEST_F(GoldenImage, ResizesWholeThenCropsToPillowsBytes) {
  for_each_image([](const auto& path, ImageSize, const Values&, const Values& view) {
    const Image resized = good(resize_short_side(good(read_image(path)), 256));
    EXPECT_TRUE(crop_image(resized, center_crop_box(resized.size(), 224)).pixels == view);
  });
}

TEST_F(GoldenImage, ReadsViewsInOneGoToPillowsBytes) {
  ImageReader reader;
  Image output;
  for_each_image([&](const auto& path, ImageSize, const Values&, const Values& view) {
    EXPECT_EQ(reason(reader.read_center_view(path, {}, output)), "");
    EXPECT_TRUE(output.pixels == view);
    EXPECT_EQ(reason(reader.read_resized(path, 256, output)), "");
    EXPECT_TRUE(crop_image(output, center_crop_box(output.size(), 224)).pixels == view);
  });
}

}  // namespace
}  // namespace protogcd
