#include <gmock/gmock.h>

#include "protogcd/core/files.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_command;
using testing::run_protogcd;

/// What bash offers after these words, the last one being typed.
std::string bash_offers(const std::string& words, int position) {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / "script", run_protogcd({"completion", "bash"}).output);
  const std::string program = "source " + (folder / "script").string() + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=" + std::to_string(position) +
                              "; _protogcd; echo \"${COMPREPLY[*]}\"";
  const auto result = run_command({"bash", "-c", program});
  EXPECT_EQ(result.errors, "");
  return result.output;
}

TEST(Completion, BashOffersVerbsFlagsAndChoices) {
  EXPECT_EQ(bash_offers("protogcd inf", 1), "info\n");
  EXPECT_EQ(bash_offers("protogcd info --thr", 2), "--threads\n");
  EXPECT_EQ(bash_offers("protogcd info --log-level wa", 3), "warning\n");
}

TEST(Completion, ZshScriptIsWellFormed) {
  const auto script = run_protogcd({"completion", "zsh"});
  EXPECT_EQ(script.exit_code, 0);
  EXPECT_THAT(script.output, HasSubstr("#compdef protogcd"));
  EXPECT_THAT(
      script.output,
      HasSubstr("'--log-level[how much to say on stderr]:value:(debug info warning error)'"));
  if (run_command({"sh", "-c", "command -v zsh"}).exit_code != 0)
    GTEST_SKIP() << "zsh is not installed";
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / "script", script.output);
  const auto check = run_command({"zsh", "-n", folder / "script"});
  EXPECT_EQ(check.exit_code, 0) << check.errors;
}

TEST(Completion, UnknownShellIsRefused) {
  const auto result = run_protogcd({"completion", "fish"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("'fish' is not allowed: expected one of bash, zsh"));
}

}  // namespace
}  // namespace protogcd
