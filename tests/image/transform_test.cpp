#include "protogcd/image/transform.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "tests/image/image_helpers.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;
using ::testing::ElementsAre;

TEST(Transform, AMirroredWindowHasItsColumnsTurnedAndItsChannelsKept) {
  Image image(3, 2);
  for (int i = 0; i < 18; ++i) image.pixels[i] = static_cast<std::uint8_t>(i);
  std::vector<std::uint8_t> all(9), part(6);
  copy_window(image, {0, 1, 3, 1}, true, all);
  EXPECT_THAT(all, ElementsAre(15, 16, 17, 12, 13, 14, 9, 10, 11));
  copy_window(image, {0, 1, 2, 1}, true, part);
  EXPECT_THAT(part, ElementsAre(12, 13, 14, 9, 10, 11));
  copy_window(image, {0, 1, 2, 1}, false, part);
  EXPECT_THAT(part, ElementsAre(9, 10, 11, 12, 13, 14));
  EXPECT_THROW(copy_window(image, {0, 1, 3, 1}, true, part), DataError);
  EXPECT_THROW(copy_window(image, {2, 1, 2, 1}, true, part), DataError);
}

TEST(Transform, CropTakesTheWindowAndNothingElse) {
  Image image(3, 3);
  for (int i = 0; i < 27; ++i) image.pixels[i] = static_cast<std::uint8_t>(i);
  EXPECT_THAT(crop_image(image, {1, 2, 2, 1}).pixels, ElementsAre(21, 22, 23, 24, 25, 26));
  for (const ImageBox outside :
       {ImageBox{2, 0, 2, 1}, ImageBox{0, 3, 1, 1}, ImageBox{-1, 0, 1, 1}, ImageBox{0, 0, 0, 1}}) {
    EXPECT_THROW(crop_image(image, outside), DataError);
  }
}

// torch: torch.tensor([0., 128., 255.]).div(255).sub(mean).div(std), in float32.
TEST(Transform, NormalisesToPlanesWithImageNetsNumbers) {
  Image image(2, 1);
  image.pixels = {0, 128, 255, 255, 0, 128};
  std::vector<float> output(6);
  Normalizer().apply(image, {0, 0, 2, 1}, false, output);
  const std::vector<float> expected = {-2.117904f, 2.248908f, 0.205182f,
                                       -2.035714f, 2.64f,     0.426493f};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(output[i], expected[i], 1e-6) << i;
}

TEST(Transform, NormalisingAMirroredWindowEqualsCopyingItFirst) {
  const Image image = random_image(9, 7, 1);
  const ImageBox box{2, 1, 5, 4};
  Image view(box.width, box.height);
  copy_window(image, box, true, view.pixels);
  std::vector<float> fused(60), plain(60);
  const Normalizer normalizer;
  normalizer.apply(image, box, true, fused);
  normalizer.apply(view, {0, 0, 5, 4}, false, plain);
  EXPECT_EQ(fused, plain);
  std::vector<float> short_output(59);
  EXPECT_THROW(normalizer.apply(image, box, true, short_output), DataError);
}

}  // namespace
}  // namespace protogcd
