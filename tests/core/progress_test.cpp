#include "protogcd/core/progress.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <string>

#include "protogcd/core/files.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What a progress of `steps` steps writes to its stream.
std::string written_by(ProgressOptions options, int steps) {
  const testing::TemporaryFolder folder;
  options.stream = std::fopen((folder / "log").c_str(), "w");
  {
    Progress progress("decode", steps, "images", options);
    for (int i = 0; i < steps; ++i) progress.add();
  }
  std::fclose(options.stream);
  return read_text_file(folder / "log");
}

TEST(Progress, SaysShareRateAndTimeLeft) {
  const Progress progress("decode", 10000, "images", {.silent = true});
  EXPECT_EQ(progress.describe(4000, 5),
            "decode 40% (4,000/10,000 images), 800 images/s, 7.5 s left");
  EXPECT_EQ(progress.describe(10000, 12.5),
            "decode 100% (10,000/10,000 images), 800 images/s, took 13 s");
  EXPECT_EQ(progress.describe(0, 0), "decode 0% (0/10,000 images)");
}

TEST(Progress, IsAPlainLineWhereThereIsNoTerminal) {
  const std::string text = written_by({.bar = false}, 50);
  EXPECT_THAT(text, HasSubstr("decode 100% (50/50 images)"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Progress, IsABarOnATerminal) {
  const std::string text = written_by({.bar = true}, 50);
  EXPECT_THAT(text, HasSubstr("\r[########################] decode 100%"));
  EXPECT_EQ(text.back(), '\n');
}

TEST(Progress, AnEmptyTaskIsDone) {
  EXPECT_THAT(written_by({}, 0), HasSubstr("100% (0/0 images)"));
}

TEST(Progress, SilentWritesNothing) {
  EXPECT_EQ(written_by({.silent = true}, 50), "");
}

}  // namespace
}  // namespace protogcd
