#include "protogcd/core/files.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::size_t file_count(const TemporaryFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), {});
}

TEST(AtomicFile, TheFileAppearsOnlyOnCommit) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "a.txt");
    file.write("never seen");
  }
  EXPECT_EQ(file_count(folder), 0u);
  AtomicFile file(folder / "a.txt");
  file.write("one ");
  file.write(std::string(3 << 20, 'x'));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
  file.commit();
  EXPECT_EQ(read_text_file(folder / "a.txt"), "one " + std::string(3 << 20, 'x'));
  EXPECT_EQ(file_count(folder), 1u);
}

TEST(AtomicFile, ErrorsNameTheTarget) {
  const TemporaryFolder folder;
  try {
    AtomicFile file(folder / "missing" / "a.txt");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing/a.txt"));
  }
  std::filesystem::create_directory(folder / "taken");
  EXPECT_THROW(write_file_atomically(folder / "taken", "x"), FileError);
  EXPECT_THROW(AtomicFile(""), FileError);
  EXPECT_EQ(file_count(folder), 1u);
}

/// Rewrites `target` for ever, in a process of its own: each content is one letter, repeated.
[[noreturn]] void rewrite_forever(const std::filesystem::path& target) {
  for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
    AtomicFile file(target);
    for (int part = 0; part < 16; ++part) file.write(std::string(1 << 16, letter));
    file.commit();
  }
}

TEST(AtomicFile, KilledAtAnyMomentLeavesTheOldFileOrTheNewOne) {
  const TemporaryFolder folder;
  const auto target = folder / "checkpoint";
  write_file_atomically(target, std::string(1 << 20, '0'));
  RandomStream random({.seed = 4});
  std::size_t replaced = 0;
  for (int round = 0; round < 60; ++round) {
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) rewrite_forever(target);
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(20000)));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    const std::string content = read_text_file(target);
    ASSERT_EQ(content.size(), 1u << 20);
    ASSERT_EQ(content.find_first_not_of(content[0]), std::string::npos) << "a mixture of two files";
    replaced += content[0] != '0';
  }
  EXPECT_GT(replaced, 0u) << "the writer never got to a commit: the test shows nothing";
  // A kill between naming and renaming may leave a hidden temporary; every earlier moment leaves
  // nothing.
  EXPECT_LE(file_count(folder), 4u);
}

TEST(AtomicFile, WritersOfOneTargetDoNotDisturbEachOther) {
  const TemporaryFolder folder;
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 50; ++i) write_file_atomically(folder / "f", std::string(5000, letter));
    });
  }
  for (auto& writer : writers) writer.join();
  const std::string content = read_text_file(folder / "f");
  EXPECT_EQ(content, std::string(5000, content[0]));
  EXPECT_EQ(file_count(folder), 1u);
}

TEST(ReadTextFile, NamesWhatCannotBeReadAndKeepsToItsLimit) {
  const TemporaryFolder folder;
  EXPECT_THROW(read_text_file(folder / "absent"), FileError);
  EXPECT_THROW(read_text_file(folder.path()), FileError);
  write_file_atomically(folder / "a", "12345");
  EXPECT_EQ(read_text_file(folder / "a", 5), "12345");
  try {
    read_text_file(folder / "a", 4);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("larger than the limit of 4 bytes"));
  }
}

TEST(CheckOutputPath, RefusesToReplaceWithoutOverwrite) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "");
  EXPECT_THROW(check_output_path(folder / "a", false), UsageError);
  EXPECT_NO_THROW(check_output_path(folder / "a", true));
  EXPECT_NO_THROW(check_output_path(folder / "b", false));
}

TEST(CreateFolders, SaysWhenAFileIsInTheWay) {
  const TemporaryFolder folder;
  create_folders(folder / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a" / "b"));
  write_file_atomically(folder / "file", "");
  EXPECT_THROW(create_folders(folder / "file" / "below"), FileError);
  EXPECT_THROW(create_folders(folder / "file"), FileError);
}

TEST(RemoveFolder, RemovesAllItHoldsAndFollowsNoLink) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "kept", "x");
  create_folders(folder / "gone" / "a" / "b");
  write_file_atomically(folder / "gone" / "a" / "file", "x");
  std::filesystem::create_directory_symlink(folder.path(), folder / "gone" / "link");
  remove_folder(folder / "gone");
  EXPECT_FALSE(std::filesystem::exists(folder / "gone"));
  EXPECT_TRUE(std::filesystem::exists(folder / "kept"));
  EXPECT_NO_THROW(remove_folder(folder / "never-there"));
}

}  // namespace
}  // namespace protogcd
