#include "protogcd/image/transform.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "tests/image/image_helpers.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;
using ::testing::ElementsAre;

TEST(Transform, FlipMirrorsColumnsAndKeepsChannels) {
  Image image(3, 1);
  image.pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(flip_horizontally(image).pixels, ElementsAre(7, 8, 9, 4, 5, 6, 1, 2, 3));
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

TEST(Transform, NormalisingAMirroredWindowEqualsCroppingAndFlippingFirst) {
  const Image image = random_image(9, 7, 1);
  const ImageBox box{2, 1, 5, 4};
  const Image view = flip_horizontally(crop_image(image, box));
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
