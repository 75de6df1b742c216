#include "protogcd/core/file_lock.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "protogcd/core/error.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

TEST(FileLock, IsHeldByOneAndFreeWhenItGoes) {
  const TemporaryFolder folder;
  const auto file = folder / "lock";
  {
    const FileLock first(file, "unused");
    EXPECT_THAT(testing::message_of<FileError>([&] { FileLock(file, "the bank is busy"); }),
                HasSubstr("the bank is busy"));
    const FileLock other(folder / "other", "unused");  // another file is another lock
  }
  const FileLock again(file, "unused");
}

TEST(FileLock, MovedItStaysTaken) {
  const TemporaryFolder folder;
  const auto file = folder / "lock";
  std::optional<FileLock> kept;
  {
    FileLock first(file, "unused");
    kept.emplace(std::move(first));
  }
  EXPECT_THROW(FileLock(file, "busy"), FileError);
  kept.reset();
  EXPECT_NO_THROW(FileLock(file, "busy"));
}

TEST(FileLock, APassingFileIsThereOnlyWhileItIsHeld) {
  const TemporaryFolder folder;
  const auto file = folder / "lock";
  {
    FileLock first = FileLock::of_passing_file(file, "unused");
    EXPECT_TRUE(std::filesystem::exists(file));
    EXPECT_THROW(FileLock::of_passing_file(file, "busy"), FileError);
    const FileLock moved(std::move(first));
    EXPECT_TRUE(std::filesystem::exists(file));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  const FileLock again = FileLock::of_passing_file(file, "unused");
}

TEST(FileLock, AKilledProcessHoldsNone) {
  const TemporaryFolder folder;
  const std::string file = folder / "lock";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock held(file, "unused");
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THROW(FileLock(file, "busy"), FileError);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_NO_THROW(FileLock(file, "busy"));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FileLock, OfAFolderIsWaitedFor) {
  const TemporaryFolder folder;
  std::optional<FileLock> first(FileLock::wait_for(folder.path()));
  std::atomic<bool> has{false};
  std::thread waiting([&] {
    const FileLock second = FileLock::wait_for(folder.path());
    has = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has);
  first.reset();
  waiting.join();
  EXPECT_TRUE(has);
}

TEST(FileLock, WhatCannotBeOpenedIsNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(testing::message_of<FileError>([&] { FileLock(folder / "none/lock", "busy"); }),
              HasSubstr("none/lock"));
  EXPECT_THAT(testing::message_of<FileError>([&] { FileLock::wait_for(folder / "none"); }),
              HasSubstr("none"));
}

}  // namespace
}  // namespace protogcd
