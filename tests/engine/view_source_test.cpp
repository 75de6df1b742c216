// Pixels of a step's views: how many, how strong, and from which random numbers.
#include "protogcd/engine/view_source.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/data/images_on_disk.h"
#include "tests/support/cuda.h"

namespace protogcd {
namespace {

using testing::ImagesOnDisk;

constexpr int kSide = 16;
constexpr std::uint64_t kSeed = 11;
constexpr std::size_t kImages = 9, kBatch = 4;

struct PixelWork {
  LoaderOptions loader(bool strong, at::Device device = at::kCPU) const {
    LoaderOptions options = loader_options({.size = kSide}, {}, 4, 2, device);
    if (strong) options.strong = StrongViewOptions{};
    return options;
  }
  std::unique_ptr<PixelSource> pixels(const LoaderOptions& options, std::size_t views) const {
    return make_loaded_pixels(set.sources, set.list, sampler, options, kSeed, views);
  }

  /// View `view` of what step `step` draws at `row`, made plainly.
  at::Tensor expected(bool strong, std::uint32_t epoch, std::size_t step, std::size_t row,
                      std::uint8_t view) const {
    const LoaderOptions options = loader(strong);
    const std::uint64_t position = step * kBatch + row;
    const Image image = testing::good(
        resize_short_side(set.images[sampler.draw(epoch, position)], options.view.short_side));
    RandomStream random(
        {.seed = kSeed,
         .purpose = strong ? RandomPurpose::kStrongAugment : RandomPurpose::kAugment,
         .epoch = epoch,
         .position = position,
         .view = view});
    Image made = image;
    RandomView window{{0, 0, kSide, kSide}, false};
    if (strong) {
      StrongViewMaker().make(image, kSide, *options.strong, random, made);
    } else {
      window = draw_random_view(image.size(), kSide, random);
    }
    at::Tensor values = at::empty({3, kSide, kSide}, at::kFloat);
    Normalizer(options.normalization)
        .apply(made, window.box, window.flip,
               {static_cast<float*>(values.data_ptr()), 3 * kSide * kSide});
    return values;
  }

  const ImagesOnDisk set{kImages};
  const Sampler sampler{4, kImages - 4, 3, kBatch};
};

TEST(LoadedPixels, AreTheViewsOfTheirKeysHoweverManyAndStrong) {
  const PixelWork work;
  for (const bool strong : {false, true}) {
    for (const std::uint8_t views : {1, 2}) {
      const auto pixels = work.pixels(work.loader(strong), views);
      for (const std::size_t first : {0, 1}) {  // whole, and from its second step on
        pixels->start_epoch(2, first);
        for (std::size_t step = first; step < work.sampler.batches_per_epoch(); ++step) {
          const at::Tensor batch = pixels->next();
          ASSERT_EQ(batch.size(0), static_cast<std::int64_t>(views * kBatch));
          for (std::size_t row = 0; row < kBatch; ++row) {
            for (std::uint8_t view = 0; view < views; ++view) {
              EXPECT_TRUE(at::equal(batch[static_cast<std::int64_t>(view * kBatch + row)],
                                    work.expected(strong, 2, step, row, view)));
            }
          }
        }
      }
    }
  }
}

TEST(LoadedPixelsOnCuda, StrongViewsAreThoseOfTheCpu) {
  PROTOGCD_NEEDS_CUDA();
  const PixelWork work;
  const at::Device gpu(at::kCUDA, 0);
  const auto there = work.pixels(work.loader(true, gpu), 2),
             here = work.pixels(work.loader(true), 2);
  there->start_epoch(0, 0);
  here->start_epoch(0, 0);
  for (std::size_t step = 0; step < work.sampler.batches_per_epoch(); ++step)
    EXPECT_TRUE(at::equal(there->next().cpu(), here->next()));
}

}  // namespace
}  // namespace protogcd
