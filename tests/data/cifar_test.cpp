#include "protogcd/data/cifar.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/npy.h"
#include "tests/data/layouts.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using namespace std::string_literals;
using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

void expect_pixels(const Image& image, unsigned seed) {
  ASSERT_EQ(image.width, 32);
  ASSERT_EQ(image.height, 32);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(image.at(x, y)[c], static_cast<std::uint8_t>(seed + 50 * c + 3 * y + x));
      }
    }
  }
}

TEST(Cifar, ReadsBinaryRecords) {
  const std::string ten = cifar_binary({"\x03"s, "\x09"s});
  const RecordFile file = parse_cifar_binary(bytes_of(ten), "b.bin", CifarKind::kCifar10);
  EXPECT_THAT(file.labels, ElementsAre(3, 9));
  expect_pixels(file.load(1), 1);
  const std::string hundred = cifar_binary({"\x03\x4d"s});
  const RecordFile fine = parse_cifar_binary(bytes_of(hundred), "b.bin", CifarKind::kCifar100);
  EXPECT_THAT(fine.labels, ElementsAre(77)) << "the second byte is the fine label";
  expect_pixels(fine.load(0), 0);
}

TEST(Cifar, ReadsPythonPicklesInBothArrayOrders) {
  for (const bool fortran : {false, true}) {
    const std::string bytes = cifar_python({6, 2, 9}, "labels", fortran);
    const RecordFile file = parse_cifar_python(bytes_of(bytes), "b", CifarKind::kCifar10);
    EXPECT_THAT(file.labels, ElementsAre(6, 2, 9));
    for (unsigned i = 0; i < 3; ++i) expect_pixels(file.load(i), i);
  }
}

TEST(Cifar, RefusesDamagedBatchesAndNamesFileAndRecord) {
  const auto binary = [](const std::string& bytes) {
    return message_of([&] { parse_cifar_binary(bytes_of(bytes), "b.bin", CifarKind::kCifar10); });
  };
  EXPECT_THAT(binary(cifar_binary({"\x01"s, "\x0A"s})), HasSubstr("b.bin: record 1 has label 10"));
  EXPECT_THAT(binary(cifar_binary({"\x01"s}).substr(1)), HasSubstr("whole number of 3073-byte"));
  EXPECT_THAT(binary(""), HasSubstr("b.bin"));
  const auto python = [](const std::string& bytes, CifarKind kind = CifarKind::kCifar10) {
    return message_of([&] { parse_cifar_python(bytes_of(bytes), "batch", kind); });
  };
  EXPECT_THAT(python(cifar_python({1}, "fine_labels")), HasSubstr("batch: no list 'labels'"));
  EXPECT_THAT(python(cifar_python({1, 10}, "labels")), HasSubstr("record 1 has label 10"));
  std::string fewer = cifar_python({1, 2}, "labels");
  fewer.replace(fewer.find("K\x01K\x02"), 4, "K\x01N"s + "0");
  EXPECT_THAT(python(fewer), HasSubstr("2 images but 1 labels"));
  EXPECT_THAT(python("\x80\x02}."), HasSubstr("entry 'data': is missing"));
}

TEST(Cifar, MissingBatchesAreListed) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { open_cifar(folder.path(), CifarKind::kCifar10); }),
              ::testing::AllOf(HasSubstr(folder.path().string()),
                               HasSubstr("cifar-10-batches-py/{data_batch_1,"),
                               HasSubstr("cifar-10-batches-bin/{data_batch_1.bin,")));
  put_file(folder / "cifar-10-batches-bin/data_batch_1.bin", cifar_binary({"\x01"s}));
  EXPECT_THAT(message_of([&] { open_cifar(folder.path(), CifarKind::kCifar10); }),
              HasSubstr("missing data_batch_2.bin, data_batch_3.bin, data_batch_4.bin, "
                        "data_batch_5.bin; expected all of"));
}

TEST(Cifar, AnAbsentTestBatchIsNone) {
  const TemporaryFolder folder;
  make_cifar10_binary(folder.path());
  EXPECT_EQ(open_cifar(folder.path(), CifarKind::kCifar10).test.size(), 1u);
  std::filesystem::remove(folder / "cifar-10-batches-bin/test_batch.bin");
  const CifarFiles files = open_cifar(folder / "cifar-10-batches-bin", CifarKind::kCifar10);
  EXPECT_EQ(files.train.size(), 5u);
  EXPECT_TRUE(files.test.empty());
}

TEST(Cifar, CorruptedSetsAreFifthsOfTheRows) {
  const TemporaryFolder folder;
  std::vector<std::uint8_t> pixels(10 * 2 * 2 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  write_npy(folder / "fog.npy",
            {"", ElementType::kUint8, {10, 2, 2, 3}, std::as_bytes(std::span(pixels))});
  const std::vector<std::int64_t> labels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  write_npy(folder / "labels.npy",
            {"", ElementType::kInt64, {10}, std::as_bytes(std::span(labels))});
  const auto third = open_cifar_c(folder.path(), "fog", 3);
  EXPECT_THAT(third->labels, ElementsAre(4, 5));
  EXPECT_EQ(third->load(1).pixels[0], 5 * 12);
  EXPECT_THAT(third->load(0).pixels, ElementsAre(48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59));
  EXPECT_THAT(message_of([&] { open_cifar_c(folder.path(), "fogg", 3); }),
              HasSubstr("did you mean 'fog'"));
  EXPECT_THAT(message_of([&] { open_cifar_c(folder.path(), "fog", 6); }), HasSubstr("severity 6"));
  EXPECT_THAT(message_of([&] { open_cifar_c(folder.path(), "snow", 1); }), HasSubstr("snow.npy"));
}

TEST(Cifar, TheRealFirstBatchHasItsKnownLabels) {
  const char* real = std::getenv("PROTOGCD_REAL_DATA");
  if (real == nullptr) GTEST_SKIP() << "set PROTOGCD_REAL_DATA to a folder with data_batch_1.bin";
  const std::string bytes = read_text_file(std::filesystem::path(real) / "data_batch_1.bin");
  const RecordFile file = parse_cifar_binary(bytes_of(bytes), "b.bin", CifarKind::kCifar10);
  EXPECT_EQ(file.count, 10000u);
  EXPECT_EQ((std::vector<std::int32_t>{file.labels.begin(), file.labels.begin() + 10}),
            (std::vector<std::int32_t>{6, 9, 9, 4, 1, 1, 2, 7, 8, 3}));
  EXPECT_EQ(file.load(0).at(0, 0)[0], 59);
  EXPECT_EQ(file.load(0).at(0, 0)[1], 62);
  EXPECT_EQ(file.load(0).at(0, 0)[2], 63);
}

}  // namespace
}  // namespace protogcd
