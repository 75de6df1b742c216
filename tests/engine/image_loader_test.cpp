#include "protogcd/engine/image_loader.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <numeric>
#include <utility>

#include "protogcd/core/error.h"
#include "tests/data/images_on_disk.h"
#include "tests/support/cuda.h"
#include "tests/support/error_message.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ImagesOnDisk;

constexpr int kSide = 16;

LoaderOptions options(std::size_t batch, std::size_t threads = 3) {
  LoaderOptions result;
  result.view = ViewSize::for_crop(kSide);
  result.batch = batch;
  result.threads = threads;
  return result;
}

BadImagePolicy bears(const std::string& limit) {
  return BadImagePolicy::parse("skip", limit);
}

/// The plain way: resize, crop, normalise one after another.
at::Tensor plain_view(const Image& image) {
  const ViewSize view = ViewSize::for_crop(kSide);
  const Image resized = testing::good(resize_short_side(image, view.short_side));
  const Image crop = crop_image(resized, center_crop_box(resized.size(), view.crop));
  at::Tensor values = at::empty({3, kSide, kSide}, at::kFloat);
  Normalizer().apply(crop, {0, 0, kSide, kSide}, false,
                     {static_cast<float*>(values.data_ptr()), 3 * kSide * kSide});
  return values;
}

TEST(ImageLoader, HandsOutEveryImageInOrderAsDirectDecodingGivesIt) {
  const ImagesOnDisk set(23);
  for (const std::size_t threads : {1, 4}) {
    SkippedFiles skipped(bears("0"), 23);
    ImageLoader loader(set.sources, ImageList::center_views(set.list), options(5, threads),
                       skipped);
    std::size_t seen = 0;
    while (const ImageBatch* batch = loader.next()) {
      EXPECT_EQ(batch->pixels.size(0), seen < 20 ? 5 : 3);
      for (std::size_t i = 0; i < batch->sources.size(); ++i, ++seen) {
        EXPECT_EQ(batch->sources[i], set.list[seen]);
        EXPECT_TRUE(
            at::equal(batch->pixels[static_cast<std::int64_t>(i)], plain_view(set.images[seen])));
      }
      EXPECT_EQ(batch->end, seen);
    }
    EXPECT_EQ(seen, 23u);
    EXPECT_EQ(loader.next(), nullptr);
  }
}

TEST(ImageLoader, BadImagesAreLeftOutAndNoted) {
  const ImagesOnDisk set(9, {0, 3, 4, 5, 8});
  SkippedFiles skipped(bears("5"), 9);
  ImageLoader loader(set.sources, ImageList::center_views(set.list), options(3), skipped);
  const ImageBatch* batch = loader.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_THAT(batch->sources, ElementsAre(1, 2));
  EXPECT_TRUE(at::equal(batch->pixels[0], plain_view(set.images[0])));
  EXPECT_TRUE(at::equal(batch->pixels[1], plain_view(set.images[1])));
  batch = loader.next();  // the second batch has no image at all
  ASSERT_NE(batch, nullptr);
  EXPECT_THAT(batch->sources, ElementsAre(6, 7));
  EXPECT_EQ(batch->end, 9u);
  EXPECT_EQ(loader.next(), nullptr);
  ASSERT_EQ(skipped.count(), 5u);
  EXPECT_EQ(skipped.files()[1].source, 3u);
  EXPECT_THAT(skipped.files()[1].reason, HasSubstr("not"));
}

TEST(ImageLoader, ABadImageEndsItWhereNoneIsBorne) {
  const ImagesOnDisk set(8, {6});
  SkippedFiles skipped(BadImagePolicy::parse("fail", "0"), 8);
  ImageLoader loader(set.sources, ImageList::center_views(set.list), options(2), skipped);
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_THROW(loader.next(), DataError);
}

TEST(ImageLoader, ErrorsOfItsThreadsReachTheCaller) {
  const ImagesOnDisk set(6);
  SkippedFiles skipped(bears("0"), 6);
  LoaderOptions impossible = options(2);
  impossible.view = {.short_side = 8, .crop = kSide};  // a mistake of ours, not of the image
  ImageLoader loader(set.sources, ImageList::center_views(set.list), impossible, skipped);
  EXPECT_THROW(loader.next(), InternalError);
}

TEST(ImageLoader, MayBeLeftInTheMiddle) {
  const ImagesOnDisk set(40);
  SkippedFiles skipped(bears("0"), 40);
  ImageLoader loader(set.sources, ImageList::center_views(set.list), options(4), skipped);
  EXPECT_NE(loader.next(), nullptr);
}

TEST(ImageLoader, AnEmptyListHasNoBatch) {
  SkippedFiles skipped(bears("0"), 0);
  const SourceTable sources;
  ImageLoader loader(sources, {}, options(4), skipped);
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(ImageLoader, ReadsRecordsInsideAFile) {
  constexpr std::size_t kCount = 5, kRecordSide = 24, kBytes = 3 * kRecordSide * kRecordSide;
  const auto bytes = std::make_shared<std::vector<std::byte>>(kCount * kBytes);
  for (std::size_t i = 0; i < bytes->size(); ++i) (*bytes)[i] = static_cast<std::byte>(i * 7 % 251);
  const auto file = std::make_shared<RecordFile>(RecordFile{.path = "records.bin",
                                                            .bytes = *bytes,
                                                            .owner = bytes,
                                                            .width = kRecordSide,
                                                            .height = kRecordSide,
                                                            .count = kCount,
                                                            .first = 0,
                                                            .record_stride = kBytes,
                                                            .channel_stride = 1,
                                                            .row_stride = 3 * kRecordSide,
                                                            .column_stride = 3,
                                                            .labels = {}});
  SourceTable sources;
  const std::uint32_t place = sources.add_container(file);
  for (std::size_t i = 0; i < kCount; ++i) sources.add_record(place, i);
  const std::vector<std::uint32_t> list = {4, 0, 2};
  SkippedFiles skipped(bears("0"), list.size());
  ImageLoader loader(sources, ImageList::center_views(list), options(3), skipped);
  const ImageBatch* batch = loader.next();
  ASSERT_NE(batch, nullptr);
  EXPECT_THAT(batch->sources, ElementsAre(4, 0, 2));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(at::equal(batch->pixels[i], plain_view(file->load(list[i])))) << i;
  }
}

std::size_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

// 4,000 images of 128 pixels would be 800 MB of network input.
TEST(ImageLoader, MemoryDoesNotGrowWithTheNumberOfImages) {
  const ImagesOnDisk set(8);
  std::vector<std::uint32_t> list(4000);
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = set.list[i % 8];
  LoaderOptions large = options(16, 2);
  large.view = ViewSize::for_crop(128);
  SkippedFiles skipped(bears("0"), list.size());
  ImageLoader loader(set.sources, ImageList::center_views(list), large, skipped);
  ASSERT_NE(loader.next(), nullptr);
  const std::size_t before = peak_bytes();
  std::size_t seen = 16;
  while (const ImageBatch* batch = loader.next()) seen += batch->sources.size();
  EXPECT_EQ(seen, 4000u);
  EXPECT_LT(peak_bytes() - before, std::size_t{32} << 20);
}

ImageList drawn_twice(std::span<const std::uint32_t> list) {
  return {
      list.size(), [list](std::size_t i) {
        return ImageRequest{
            list[i],
            RandomKey{.seed = 7, .purpose = RandomPurpose::kAugment, .epoch = 3, .position = i}};
      }};
}

LoaderOptions two_views(std::size_t batch, std::size_t threads, const ImageCache* cache = nullptr) {
  LoaderOptions result = options(batch, threads);
  result.views = 2;
  result.cache = cache;
  return result;
}

TEST(ImageLoader, RandomViewsAreThoseOfTheirKeysFromFilesAndFromTheCache) {
  const ImagesOnDisk set(10);
  SkippedFiles skipped(bears("0"), 10);
  const ViewSize view = ViewSize::for_crop(kSide);
  ImageCache all(10, 1 << 20), few(10, 3000), none(10, 0);
  for (ImageCache* cache : {&all, &few, &none}) {
    read_all_images(set.sources, set.list, view.short_side, {}, *cache, skipped, {.threads = 2});
  }
  EXPECT_NE(few.find(0), nullptr);
  EXPECT_EQ(few.find(9), nullptr);
  for (const ImageCache* cache : {static_cast<const ImageCache*>(nullptr), &std::as_const(all),
                                  &std::as_const(few), &std::as_const(none)}) {
    ImageLoader loader(set.sources, drawn_twice(set.list), two_views(5, 3, cache), skipped);
    std::size_t first = 0;
    while (const ImageBatch* batch = loader.next()) {
      ASSERT_EQ(batch->pixels.size(0), 10);
      for (std::size_t i = 0; i < 5; ++i) {
        const Image resized =
            testing::good(resize_short_side(set.images[first + i], view.short_side));
        for (std::uint8_t v = 0; v < 2; ++v) {
          RandomStream stream({.seed = 7,
                               .purpose = RandomPurpose::kAugment,
                               .epoch = 3,
                               .position = first + i,
                               .view = v});
          const RandomView drawn = draw_random_view(resized.size(), kSide, stream);
          at::Tensor expected = at::empty({3, kSide, kSide}, at::kFloat);
          Normalizer().apply(resized, drawn.box, drawn.flip,
                             {static_cast<float*>(expected.data_ptr()), 3 * kSide * kSide});
          EXPECT_TRUE(batch->pixels[static_cast<std::int64_t>(5 * v + i)].equal(expected));
        }
      }
      first += 5;
    }
    EXPECT_EQ(first, 10u);
  }
}

TEST(ImageLoader, CenterViewsFromTheCacheAreTheSame) {
  const ImagesOnDisk set(4);
  SkippedFiles skipped(bears("0"), 4);
  ImageCache cache(4, 1 << 20);
  read_all_images(set.sources, set.list, ViewSize::for_crop(kSide).short_side, {}, cache, skipped,
                  {.threads = 2});
  LoaderOptions cached = options(4);
  cached.cache = &cache;
  ImageLoader loader(set.sources, ImageList::center_views(set.list), cached, skipped);
  const ImageBatch* batch = loader.next();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(batch->pixels[static_cast<std::int64_t>(i)].equal(plain_view(set.images[i])));
  }
}

TEST(ImageLoader, ABadImageAmongRandomViewsIsAnErrorThatNamesIt) {
  const ImagesOnDisk set(6, {4});
  SkippedFiles skipped(bears("50%"), 6);
  ImageLoader loader(set.sources, drawn_twice(set.list), two_views(3, 2), skipped);
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_THAT(testing::message_of<DataError>([&] { loader.next(); }), HasSubstr("4.png"));
}

TEST(ImageLoader, BatchesForAGpuAreTheSameNumbers) {
  PROTOGCD_NEEDS_CUDA();
  const ImagesOnDisk set(12);
  SkippedFiles skipped(bears("0"), 12);
  LoaderOptions there = two_views(3, 2);
  there.device = at::Device(at::kCUDA, 0);
  ImageLoader gpu(set.sources, drawn_twice(set.list), there, skipped),
      cpu(set.sources, drawn_twice(set.list), two_views(3, 2), skipped);
  int batches = 0;
  while (const ImageBatch* expected = cpu.next()) {
    const ImageBatch* batch = gpu.next();
    EXPECT_TRUE(batch->pixels.is_cuda());
    EXPECT_TRUE(batch->pixels.cpu().equal(expected->pixels)) << batches;
    ++batches;
  }
  EXPECT_EQ(batches, 4);
}

}  // namespace
}  // namespace protogcd
