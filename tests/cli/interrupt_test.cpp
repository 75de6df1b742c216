// Ctrl-C: a flag first, the end at the second.
#include "protogcd/cli/interrupt.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "protogcd/core/context.h"
#include "protogcd/core/error.h"

namespace protogcd::cli {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;

/// Signals as a program started from a terminal has them, whatever started this one.
void allow_signals() {
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
}

TEST(InterruptGuard, TheFirstSignalSetsAFlagAndSaysSo) {
  allow_signals();
  for (const int number : {SIGINT, SIGTERM}) {
    const InterruptGuard guard;
    const Context context{.stop = guard.token()};
    EXPECT_FALSE(context.interrupted());
    ::testing::internal::CaptureStderr();
    ::raise(number);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("Ctrl-C again"));
    EXPECT_TRUE(context.interrupted());
  }
  EXPECT_FALSE(Context{}.interrupted());
}

TEST(InterruptGuard, TheSecondSignalLeavesAtOnce) {
  const auto twice = [](int number) {
    allow_signals();
    const InterruptGuard guard;
    ::raise(number);
    ::raise(number);
    ::_exit(0);
  };
  EXPECT_EXIT(twice(SIGINT), ExitedWithCode(130), "Ctrl-C again");
  EXPECT_EXIT(twice(SIGTERM), ExitedWithCode(143), "Ctrl-C again");
}

TEST(InterruptGuard, AfterItSignalsActAsBefore) {
  const auto after = [] {
    allow_signals();
    { const InterruptGuard guard; }
    ::raise(SIGINT);
  };
  EXPECT_EXIT(after(), KilledBySignal(SIGINT), "");
}

TEST(InterruptGuard, IgnoredSignalsStayIgnored) {
  const auto ignoring = [] {
    allow_signals();
    ::signal(SIGINT, SIG_IGN);
    const InterruptGuard guard;
    ::raise(SIGINT);
    const bool ignored = !guard.interrupted();
    ::raise(SIGTERM);
    ::_exit(ignored && guard.interrupted() ? 0 : 1);
  };
  EXPECT_EXIT(ignoring(), ExitedWithCode(0), "");
}

TEST(InterruptGuard, ThereIsOneAtATime) {
  {
    const InterruptGuard first;
    EXPECT_THROW(InterruptGuard(), InternalError);
  }
  EXPECT_NO_THROW(InterruptGuard());
}

}  // namespace
}  // namespace protogcd::cli
