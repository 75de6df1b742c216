// Verbs called by a host that is no command line: options by key, the answer as a value.
#include <gmock/gmock.h>

#include <csignal>

#include "protogcd/cli/command_line.h"
#include "protogcd/cli/interrupt.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "tests/support/error_message.h"

namespace protogcd::cli {
namespace {

using protogcd::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct CountOptions {
  std::int64_t k_max = 5;
  std::vector<std::string> names;
};

/// A verb that answers with what it was given; of its variants, the one that was chosen.
Verb counting_verb() {
  return {.name = "count",
          .summary = "counts",
          .example = "protogcd count",
          .variant_key = "method",
          .variants = {"plain", "other"},
          .variant_group = "Method",
          .declare_variant = [](OptionTable& table, const std::string& variant) -> Action {
            auto options = std::make_shared<CountOptions>();
            auto method = std::make_shared<std::string>(variant);
            table.add("method", method.get(), "how");
            table.add("k_max", &options->k_max, "at most").at_least(1);
            table.add("names", &options->names, "of what");
            return [=](Session& session) {
              const InterruptGuard guard(session.host_stop);
              session.print_json({{"k_max", options->k_max},
                                  {"names", options->names},
                                  {"method", *method},
                                  {"variant", variant},
                                  {"stopped", guard.interrupted()},
                                  {"threads", session.context.threads}});
            };
          }};
}

TEST(VerbCall, TakesOptionsByKeyAndAnswersWithAValue) {
  const auto found = call_verb(
      counting_verb(),
      {{"k_max", {"7"}}, {"names", {"a", "b"}}, {"method", {"other"}}, {"threads", {"3"}}}, {});
  EXPECT_EQ(found.at("k_max"), 7);
  EXPECT_EQ(found.at("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(found.at("variant"), "other");
  EXPECT_EQ(found.at("threads"), 3);
  EXPECT_EQ(call_verb(counting_verb(), {}, {}).at("variant"), "plain");
}

TEST(VerbCall, PrintsNothing) {
  ::testing::internal::CaptureStdout();
  call_verb(counting_verb(), {}, {});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(VerbCall, NamesOptionsByTheirKeys) {
  EXPECT_THAT(message_of([] {
                call_verb(counting_verb(), {{"k_maxx", {"7"}}}, {});
              }),
              AllOf(HasSubstr("'k_maxx'"), HasSubstr("'k_max'"), Not(HasSubstr("--"))));
  EXPECT_THAT(message_of([] {
                call_verb(counting_verb(), {{"k_max", {"0"}}}, {});
              }),
              HasSubstr("k_max: '0' is not allowed"));
}

TEST(VerbCall, StopsAsItsHostSaysAndLeavesSignalsAlone) {
  Context host;
  host.stop.request_stop();
  struct sigaction before {
  }, after{};
  ::sigaction(SIGINT, nullptr, &before);
  EXPECT_EQ(call_verb(counting_verb(), {}, host).at("stopped"), true);
  const InterruptGuard guard(host.stop);
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace protogcd::cli
