// TensorBoard event files: the bytes, and what TensorBoard's own reader makes of them.
#include "protogcd/core/event_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <bit>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "tests/support/error_message.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensorboard.h"

namespace protogcd {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

template <class T>
T number_at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The events of a file, each without its time; every length and checksum is checked.
std::vector<std::string> events_of(const std::filesystem::path& path) {
  const std::string bytes = read_text_file(path);
  const auto unmasked = [&](std::size_t offset) {
    return std::rotl(number_at<std::uint32_t>(bytes, offset) - 0xa282ead8u, 15);
  };
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<std::string> events;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = number_at<std::uint64_t>(bytes, at);
    EXPECT_EQ(unmasked(at + 8), crc32c(bytes.substr(at, 8)));
    const std::string event = bytes.substr(at + 12, length);
    EXPECT_EQ(unmasked(at + 12 + length), crc32c(event));
    EXPECT_EQ(event.at(0), '\x09');
    EXPECT_NEAR(number_at<double>(event, 1), now.count(), 60);
    events.push_back(event.substr(9));
    at += 16 + length;
  }
  return events;
}

TEST(EventFile, Crc32cOfTheStandardsExamples) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(EventFile, BytesAreThoseOfTheFormat) {
  const TemporaryFolder folder;
  EventFile file(folder.path(), 300);
  file.write(300, {{"a/b", 1.5}, {"c", -2}});
  // Step 300 is the varint AC 02; 1.5 and -2 are the floats 3FC00000 and C0000000.
  EXPECT_THAT(events_of(file.path()), ElementsAre("\x10\0\x1a\x0d"
                                                  "brain.Event:2"s,
                                                  "\x10\xac\x02\x3a\x02\x08\x01"s,
                                                  "\x10\xac\x02\x2a\x16"
                                                  "\x0a\x0a\x0a\x03"
                                                  "a/b\x15\0\0\xc0\x3f"
                                                  "\x0a\x08\x0a\x01"
                                                  "c\x15\0\0\0\xc0"s));
}

TEST(EventFile, FilesAreNumberedAndNeverTouchedAgain) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "events.out.tfevents.1700000000.host", "someone else's");
  const auto first = EventFile(folder.path(), 0).path();
  EXPECT_EQ(first.filename(), "events.out.tfevents.000001.protogcd");
  const std::string before = read_text_file(first);
  std::filesystem::copy(first, folder / "events.out.tfevents.000009.protogcd");
  EXPECT_EQ(EventFile(folder.path(), 0).path().filename(), "events.out.tfevents.000010.protogcd");
  EXPECT_EQ(read_text_file(first), before);
  EXPECT_THROW(EventFile(folder / "absent", 0), FileError);
}

TEST(EventFile, TensorBoardShowsAResumedRunOnce) {
  const TemporaryFolder folder;
  std::filesystem::path first;
  {
    EventFile file(folder.path(), 0);
    first = file.path();
    for (int step = 0; step < 6; ++step) file.write(step, {{"loss", 1.0 * step}, {"rate", 0.5}});
  }
  // Killed within its last write, then continued from step 3, which is stopped and continued too.
  std::filesystem::resize_file(first, std::filesystem::file_size(first) - 7);
  EventFile(folder.path(), 3).write(3, {{"loss", 103}, {"rate", 0.25}});
  EventFile last(folder.path(), 4);
  last.write(4, {{"loss", 204}, {"rate", 0.125}});
  const auto points = testing::read_by_tensorboard(folder.path());
  if (points.is_null()) {
    GTEST_SKIP()
        << "no Python with the package tensorboard: `make test` installs it into .venv, or "
           "name one in PROTOGCD_PYTHON";
  }
  EXPECT_EQ(points, nlohmann::json::parse(
                        R"({"loss": [[0, 0.0], [1, 1.0], [2, 2.0], [3, 103.0], [4, 204.0]],
                                             "rate": [[0, 0.5], [1, 0.5], [2, 0.5], [3, 0.25], [4, 0.125]]})"));
}

TEST(EventFile, AFullDiskIsAnErrorThatNamesTheFile) {
  const TemporaryFolder folder;
  EventFile file(folder.path(), 0);
  // A limit on the size of files stands for the full disk.
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 120, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = testing::message_of<FileError>([&] {
    for (int step = 0; step < 5; ++step) file.write(step, {{"loss", 1}});
  });
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, previous);
  EXPECT_THAT(message, HasSubstr(file.path().string() + ": cannot write"));
}

}  // namespace
}  // namespace protogcd
