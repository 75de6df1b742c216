// Threads, order, limits and ends of ImageStream; under the thread sanitizer too (`make tsan`).
#include "protogcd/data/image_stream.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "protogcd/core/error.h"
#include "tests/data/images_on_disk.h"
#include "tests/support/error_message.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ImagesOnDisk;

constexpr int kSide = 16;
constexpr std::size_t kRow = 3 * kSide * kSide;

StreamOptions options(std::size_t batch, std::size_t threads) {
  StreamOptions result;
  result.view = ViewSize::for_crop(kSide);
  result.batch = batch;
  result.threads = threads;
  return result;
}

/// A stream with buffers of its own.
template <class T>
struct Reading {
  Reading(const ImagesOnDisk& set, const ImageList& list, const StreamOptions& stream_options,
          const std::string& bearable = "0")
      : skipped(BadImagePolicy::parse("skip", bearable), list.size) {
    const StreamRoom room(list, stream_options);
    std::vector<PixelRows> rows;
    for (std::size_t i = 0; i < room.buffers; ++i) memory.emplace_back(room.rows * room.row_size);
    for (auto& buffer : memory) rows.emplace_back(std::span<T>(buffer));
    stream.emplace(set.sources, list, stream_options, rows, skipped);
  }

  std::vector<T> row(const StreamBatch& batch, std::size_t index) const {
    const auto begin = memory[batch.buffer].begin() + static_cast<std::ptrdiff_t>(index * kRow);
    return {begin, begin + kRow};
  }

  SkippedFiles skipped;
  std::vector<std::vector<T>> memory;
  std::optional<ImageStream> stream;
};

Image plain_view(const Image& image) {
  const ViewSize view = ViewSize::for_crop(kSide);
  const Image resized = testing::good(resize_short_side(image, view.short_side));
  return crop_image(resized, center_crop_box(resized.size(), view.crop));
}

std::vector<float> normalised(const Image& view) {
  std::vector<float> numbers(kRow);
  Normalizer().apply(view, {0, 0, kSide, kSide}, false, numbers);
  return numbers;
}

TEST(ImageStream, HandsOutEveryImageInOrderWhateverTheThreads) {
  const ImagesOnDisk set(23);
  for (const std::size_t threads : {1, 4}) {
    const ImageList list = ImageList::center_views(set.list);
    Reading<std::uint8_t> bytes(set, list, options(5, threads));
    Reading<float> numbers(set, list, options(5, threads));
    std::size_t seen = 0;
    while (const StreamBatch* batch = bytes.stream->next()) {
      const StreamBatch* same = numbers.stream->next();
      ASSERT_NE(same, nullptr);
      ASSERT_EQ(batch->rows, seen < 20 ? 5u : 3u);
      EXPECT_EQ(batch->sources, same->sources);
      for (std::size_t i = 0; i < batch->rows; ++i, ++seen) {
        EXPECT_EQ(batch->sources[i], set.list[seen]);
        const Image view = plain_view(set.images[seen]);
        EXPECT_EQ(bytes.row(*batch, i), view.pixels) << seen;
        EXPECT_EQ(numbers.row(*same, i), normalised(view)) << seen;
      }
      EXPECT_EQ(batch->end, seen);
    }
    EXPECT_EQ(seen, 23u);
    EXPECT_EQ(bytes.stream->next(), nullptr);
  }
}

TEST(ImageStream, GoodRowsMoveTogetherWhereBadOnesWere) {
  const ImagesOnDisk set(9, {0, 3, 4, 5, 8});
  Reading<std::uint8_t> reading(set, ImageList::center_views(set.list), options(3, 3), "5");
  const StreamBatch* batch = reading.stream->next();
  ASSERT_NE(batch, nullptr);
  EXPECT_THAT(batch->sources, ElementsAre(1, 2));
  EXPECT_EQ(reading.row(*batch, 0), plain_view(set.images[0]).pixels);
  EXPECT_EQ(reading.row(*batch, 1), plain_view(set.images[1]).pixels);
  batch = reading.stream->next();  // the second batch has no image at all
  ASSERT_NE(batch, nullptr);
  EXPECT_THAT(batch->sources, ElementsAre(6, 7));
  EXPECT_EQ(batch->end, 9u);
  EXPECT_EQ(reading.stream->next(), nullptr);
  EXPECT_EQ(reading.skipped.count(), 5u);
}

// Views of one image lie a batch apart, and are drawn from their own keys.
TEST(ImageStream, SeveralViewsOfCachedImagesAreThoseOfTheirKeys) {
  const ImagesOnDisk set(10);
  const ViewSize view = ViewSize::for_crop(kSide);
  ImageCache cache(10, 5000);  // some of them
  const Logger quiet;
  SkippedFiles skipped(BadImagePolicy::parse("skip", "0"), 10);
  read_all_images(set.sources, set.list, view.short_side, {}, cache, skipped,
                  {.threads = 3, .log = quiet});
  const auto key = [](std::size_t i, std::uint8_t v) {
    return RandomKey{.seed = 7, .purpose = RandomPurpose::kAugment, .position = i, .view = v};
  };
  const ImageList list{10, [&](std::size_t i) { return ImageRequest{set.list[i], key(i, 0)}; }};
  StreamOptions two = options(5, 3);
  two.views = 2;
  two.cache = &cache;
  Reading<std::uint8_t> reading(set, list, two);
  std::size_t first = 0;
  while (const StreamBatch* batch = reading.stream->next()) {
    ASSERT_EQ(batch->rows, 10u);
    for (std::size_t i = 0; i < 5; ++i) {
      const Image image = testing::good(resize_short_side(set.images[first + i], view.short_side));
      for (std::uint8_t v = 0; v < 2; ++v) {
        RandomStream draw(key(first + i, v));
        const RandomView drawn = draw_random_view(image.size(), kSide, draw);
        std::vector<std::uint8_t> expected(kRow);
        copy_window(image, drawn.box, drawn.flip, expected);
        EXPECT_EQ(reading.row(*batch, 5 * v + i), expected) << first + i << ", view " << int{v};
      }
    }
    first += 5;
  }
  EXPECT_EQ(first, 10u);
}

TEST(ImageStream, StrongViewsAreThoseOfTheirKeysWhateverTheThreads) {
  const ImagesOnDisk set(10);
  const auto key = [](std::size_t i, std::uint8_t v) {
    return RandomKey{.seed = 7, .purpose = RandomPurpose::kStrongAugment, .position = i, .view = v};
  };
  const ImageList list{10, [&](std::size_t i) { return ImageRequest{set.list[i], key(i, 0)}; }};
  for (const std::size_t threads : {1, 3}) {
    StreamOptions strong = options(10, threads);
    strong.views = 2;
    strong.strong = StrongViewOptions{};
    Reading<std::uint8_t> reading(set, list, strong);
    const StreamBatch* batch = reading.stream->next();
    ASSERT_NE(batch, nullptr);
    for (std::size_t i = 0; i < 10; ++i) {
      const Image image = testing::good(resize_short_side(set.images[i], strong.view.short_side));
      for (std::uint8_t v = 0; v < 2; ++v) {
        RandomStream draw(key(i, v));
        Image expected;
        StrongViewMaker().make(image, kSide, *strong.strong, draw, expected);
        EXPECT_EQ(reading.row(*batch, 10 * v + i), expected.pixels) << i << ", view " << int{v};
      }
    }
  }
}

TEST(ImageStream, ReadsNoFurtherThanItMay) {
  const ImagesOnDisk set(60);
  std::atomic<std::size_t> farthest{0};
  const ImageList list{60, [&](std::size_t i) {
                         std::size_t seen = farthest.load();
                         while (seen < i + 1 && !farthest.compare_exchange_weak(seen, i + 1)) {
                         }
                         return ImageRequest{set.list[i], std::nullopt};
                       }};
  StreamOptions two_ahead = options(4, 3);
  two_ahead.ahead = 2;
  Reading<float> reading(set, list, two_ahead);
  for (std::size_t batch = 1; reading.stream->next() != nullptr; ++batch) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // threads could run ahead
    EXPECT_LE(farthest.load(), 4 * (batch + 2));
  }
  EXPECT_EQ(farthest.load(), 60u);
}

TEST(ImageStream, LeftInTheMiddleItReadsNoMore) {
  const ImagesOnDisk set(8);
  std::vector<std::uint32_t> list(4000);
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = set.list[i % 8];
  std::atomic<std::size_t> changed{0};
  StreamOptions slow = options(400, 2);
  slow.change = [&](const Image& image, std::uint32_t) {
    ++changed;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return image;
  };
  {
    Reading<std::uint8_t> reading(set, ImageList::center_views(list), slow);
    while (changed == 0) std::this_thread::yield();
  }
  EXPECT_LT(changed, 400u);  // 1,200 were in the queue
}

TEST(ImageStream, ErrorsOfItsThreadsReachTheCaller) {
  const ImagesOnDisk set(6);
  StreamOptions impossible = options(2, 3);
  impossible.view = {.short_side = 8, .crop = kSide};  // a mistake of ours, not of the image
  Reading<float> reading(set, ImageList::center_views(set.list), impossible);
  EXPECT_THROW(reading.stream->next(), InternalError);
}

TEST(ImageStream, ABadImageAmongSeveralViewsIsAnErrorThatNamesIt) {
  const ImagesOnDisk set(6, {4});
  StreamOptions two = options(3, 2);
  two.views = 2;
  const ImageList list{6, [&](std::size_t i) { return ImageRequest{set.list[i], RandomKey{}}; }};
  Reading<float> reading(set, list, two, "50%");
  EXPECT_NE(reading.stream->next(), nullptr);
  EXPECT_THAT(testing::message_of<DataError>([&] { reading.stream->next(); }), HasSubstr("4.png"));
}

TEST(ImageStream, RefusesOtherBuffersThanItAsksFor) {
  const ImagesOnDisk set(6);
  SkippedFiles skipped(BadImagePolicy::parse("skip", "0"), 6);
  std::vector<float> small(kRow);
  const std::vector<PixelRows> rows = {std::span(small), std::span(small), std::span(small)};
  EXPECT_THROW(
      ImageStream(set.sources, ImageList::center_views(set.list), options(2, 1), rows, skipped),
      InternalError);
}

TEST(ImageStream, AnEmptyListHasNoBatch) {
  const ImagesOnDisk set(0);
  Reading<float> reading(set, {}, options(4, 2));
  EXPECT_EQ(reading.stream->next(), nullptr);
}

}  // namespace
}  // namespace protogcd
