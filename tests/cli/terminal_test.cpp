// What the command line shows of messages and long tasks.
#include "protogcd/cli/terminal.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

#include "protogcd/core/files.h"
#include "tests/support/temporary_folder.h"

namespace protogcd::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

/// What a progress of `steps` steps writes to its stream.
std::string written_by(bool bar, int steps, const std::string& news = {}) {
  const testing::TemporaryFolder folder;
  std::FILE* stream = std::fopen((folder / "log").c_str(), "w");
  {
    Progress progress("decode", steps, "images", std::make_shared<StreamProgress>(stream, bar));
    for (int i = 0; i < steps; ++i) progress.add();
    if (!news.empty()) progress.say(news);
  }
  std::fclose(stream);
  return read_text_file(folder / "log");
}

TEST(StreamProgress, IsAPlainLineWhereThereIsNoTerminal) {
  const std::string text = written_by(false, 50);
  EXPECT_THAT(text, HasSubstr("decode 100% (50/50 images)"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(StreamProgress, IsABarOnATerminal) {
  const std::string text = written_by(true, 50);
  EXPECT_THAT(text, HasSubstr("\r[########################] decode 100%"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(StreamProgress, AnEmptyTaskIsDone) {
  EXPECT_THAT(written_by(false, 0), HasSubstr("100% (0/0 images)"));
}

TEST(StreamProgress, NewsStandAboveTheBarAndCoverIt) {
  EXPECT_THAT(written_by(true, 5, "news"), HasSubstr("\rnews      "));
  EXPECT_THAT(written_by(false, 5, "news"), ::testing::StartsWith("news\ndecode 100%"));
}

TEST(StderrLog, NamesTheLevelAndKeepsToOneLine) {
  ::testing::internal::CaptureStderr();
  const Logger log = stderr_log(LogLevel::kInfo);
  log.debug("not this");
  log.info("one");
  log.warning("two\nlines");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, ::testing::StartsWith("info: one\nwarning: two"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(StderrLog, TellsTheTimeWhereEverythingIsTold) {
  ::testing::internal::CaptureStderr();
  stderr_log(LogLevel::kDebug).debug("this too");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), MatchesRegex("[0-9:.]+ debug this too\n"));
}

const std::string kHostile = "a\x1B]0;b\x07\nc\u009B31m\u202Egnp";
const std::string kShown = "a\\x1B]0;b\\x07\\x0Ac\\u009B31m\\u202Egnp";

std::string said(const std::function<void()>& say_it) {
  ::testing::internal::CaptureStdout();
  say_it();
  std::fflush(stdout);
  return ::testing::internal::GetCapturedStdout();
}

TEST(Answers, NoNameSteersATerminal) {
  EXPECT_EQ(said([] { say("{:>3} {} {}\n", 7, kHostile, kHostile.c_str()); }),
            "  7 " + kShown + " " + kShown + "\n");
  EXPECT_EQ(said([] { say("{:{}}|{:.1f}\n", std::string_view("ab"), 4, 0.25); }), "ab  |0.2\n");
  EXPECT_EQ(said([] { say_lines("x\n\x1B[2J\ny"); }), "x\n\\x1B[2J\ny");
}

TEST(Answers, DataForProgramsIsAsItIs) {
  const std::string line = "\"" + kHostile + "\",1\n";
  EXPECT_EQ(said([&] { say_data(line); }), line);
}

TEST(StreamProgress, NoNameSteersATerminal) {
  EXPECT_THAT(written_by(true, 5, kHostile), HasSubstr("\r" + kShown));
}

TEST(StderrLog, NoNameSteersATerminal) {
  ::testing::internal::CaptureStderr();
  stderr_log(LogLevel::kInfo).info(kHostile);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "info: " + kShown + "\n");
}

}  // namespace
}  // namespace protogcd::cli
