// What a host gives to work: nothing is said, shown or stopped unless it says so.
#include "protogcd/core/context.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/recorded_host.h"

namespace protogcd {
namespace {

using testing::RecordedHost;

TEST(Logger, IsSilentUnlessAHostListens) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  const Context context;
  context.log.warning("something");
  { Progress("task", 2, "steps", context.progress()).add(2); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(Logger, PassesOnWhatReachesItsLevel) {
  const auto host = std::make_shared<RecordedHost>();
  const Logger log(host, LogLevel::kWarning);
  log.debug("one");
  log.info("two");
  log.warning("three");
  log.write(LogLevel::kError, "four");
  EXPECT_EQ(host->take(), "three\nfour\n");
  Logger(host, LogLevel::kSilent).write(LogLevel::kError, "five");
  EXPECT_EQ(host->take(), "");
}

TEST(Logger, ACopySpeaksToTheSameHost) {
  const auto host = std::make_shared<RecordedHost>();
  const Context context{.log = Logger(host)};
  const Context copy = context;
  copy.log.info("hello");
  EXPECT_EQ(host->take(), "hello\n");
}

TEST(StopToken, IsSharedByCopies) {
  Context context;
  const Context copy = context;
  EXPECT_FALSE(copy.interrupted());
  std::thread([token = context.stop] { token.request_stop(); }).join();
  EXPECT_TRUE(copy.interrupted());
  EXPECT_FALSE(Context{}.interrupted());
}

TEST(Context, TheFirstOfSeveralProcessesShowsProgress) {
  const auto host = std::make_shared<RecordedHost>();
  EXPECT_EQ((Context{.progress_sink = host, .process = {.rank = 0, .size = 2}}.progress()), host);
  EXPECT_EQ((Context{.progress_sink = host, .process = {.rank = 1, .size = 2}}.progress()),
            nullptr);
}

}  // namespace
}  // namespace protogcd
