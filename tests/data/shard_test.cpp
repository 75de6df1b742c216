// Shards of a list of images: who has which, and what is refused.
#include "protogcd/data/shard.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

TEST(Shard, IsPartIOfNFrom1) {
  for (const char* text : {"1/1", "1/8", "8/8"}) {
    ASSERT_TRUE(Shard::parse(text)) << text;
    EXPECT_EQ(Shard::parse(text)->in_words(), text);
  }
  for (const char* text :
       {"", "0/8", "9/8", "1/0", "-1/8", "1", "/", "1/8/2", "a/b", "1/9999999999"})
    EXPECT_FALSE(Shard::parse(text)) << text;
}

TEST(Shard, ShardsAreWholeBatchesAndTogetherTheList) {
  for (const std::size_t images : {0u, 1u, 16u, 100u, 1000u}) {
    for (const std::int64_t count : {1, 2, 3, 8, 100}) {
      std::size_t end = 0, largest = 0, smallest = images + 1;
      for (std::int64_t index = 1; index <= count; ++index) {
        const auto [first, last] = Shard{index, count}.range(images, 16);
        EXPECT_EQ(first, end);
        EXPECT_TRUE(first % 16 == 0 || first == images);
        largest = std::max(largest, last - first);
        smallest = std::min(smallest, last - first);
        end = last;
      }
      EXPECT_EQ(end, images);
      EXPECT_LE(largest - smallest, 2 * 16u);
    }
  }
}

TEST(Shard, ALongListIsCutWithoutOverflow) {
  const auto [first, end] = Shard{1'000'000, 1'000'000}.range(4'000'000'000, 1);
  EXPECT_EQ(first, 3'999'996'000u);
  EXPECT_EQ(end, 4'000'000'000u);
}

TEST(Shard, AListIsNamedByItsPathsWhereverItIsReadFrom) {
  SourceTable absolute, relative, other;
  absolute.add_path(std::filesystem::current_path() / "a/b.jpg");
  relative.add_path("a/../a/b.jpg");
  other.add_path("a/c.jpg");
  EXPECT_EQ(list_digest(absolute), list_digest(relative));
  EXPECT_NE(list_digest(absolute), list_digest(other));
}

TEST(ShardNote, SaysWhatTheFileBesideItLacks) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder / "p-1-of-2.csv";
  const auto read = [&] { return message_of([&] { ShardNote::read(out); }); };
  EXPECT_THAT(read(), HasSubstr("no finished shard"));
  write_file_atomically(out, "path\nx\n");
  EXPECT_THAT(read(), HasSubstr("no finished shard"));
  ShardNote note{.kind = "predictions", .shard = {1, 2}, .identity = {{"model", "x"}}, .images = 1};
  note.add_file("output", out);
  note.write(out);
  EXPECT_EQ(ShardNote::read(out).identity, note.identity);
  EXPECT_TRUE(is_finished_shard(out, note));
  note.identity["model"] = "y";
  EXPECT_THAT(message_of([&] { is_finished_shard(out, note); }), HasSubstr("another model"));
  write_file_atomically(out, "path\n");
  EXPECT_THAT(read(), HasSubstr("5 bytes, and 7 were written"));
  write_file_atomically(ShardNote::path_of(out), "{\"format\":\"protogcd-shard-2\"}");
  EXPECT_THAT(read(), HasSubstr("of format \"protogcd-shard-2\""));
  for (const char* text : {"", "{", "[]", "{\"format\":\"protogcd-shard-1\",\"shard\":\"9/8\"}"}) {
    write_file_atomically(ShardNote::path_of(out), text);
    EXPECT_THAT(read(), HasSubstr("no note of a shard")) << text;
  }
}

}  // namespace
}  // namespace protogcd
