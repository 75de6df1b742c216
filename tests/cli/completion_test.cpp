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
  EXPECT_EQ(bash_offers("protogcd datasets sp", 2), "split\n");
  EXPECT_EQ(bash_offers("protogcd completion z", 2), "zsh\n");
}

/// Types words and a tab into an interactive zsh that has loaded the script, then has the line
/// printed between brackets.
constexpr const char* kZshSession = R"(
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -D -u; $1; bindkey '^I' complete-word; echo RE''ADY"
zpty -r -m shell out '*READY*'
zpty -n -w shell $'protogcd '"$2"$'\t'
zpty -n -w shell $'\x01echo \x22[\x05]\x22\n'
zpty -r -m shell out '*'$'\n''\[*\]*'
print -r -- "[${${out##*$'\n'\[}%%\]*}]"
)";

class ZshCompletion : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_command({"sh", "-c", "command -v zsh"}).exit_code != 0)
      GTEST_SKIP() << "zsh is not installed";
    write_file_atomically(folder_ / "_protogcd", run_protogcd({"completion", "zsh"}).output);
    write_file_atomically(folder_ / "session", kZshSession);
  }
  std::string completed(const std::string& load, const std::string& words) const {
    return run_command({"timeout", "60", "zsh", "-f", folder_ / "session", load, words}).output;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ZshCompletion, CompletesVerbsFlagsAndChoices) {
  const auto check = run_command({"zsh", "-n", folder_ / "_protogcd"});
  EXPECT_EQ(check.exit_code, 0) << check.errors;
  const std::string load = "source " + (folder_ / "_protogcd").string();
  EXPECT_EQ(completed(load, "inf"), "[protogcd info]\n");
  EXPECT_EQ(completed(load, "datasets sp"), "[protogcd datasets split]\n");
  EXPECT_EQ(completed(load, "info --thr"), "[protogcd info --threads]\n");
  EXPECT_EQ(completed(load, "info --log-level wa"), "[protogcd info --log-level warning]\n");
  EXPECT_EQ(completed(load, "completion z"), "[protogcd completion zsh]\n");
}

TEST_F(ZshCompletion, WorksFromAFolderOfCompletionsAtTheFirstTab) {
  const std::string load =
      "fpath=(" + folder_.path().string() + " $fpath); autoload -Uz compinit; compinit -D -u";
  EXPECT_EQ(completed(load, "datasets sp"), "[protogcd datasets split]\n");
}

TEST(Completion, ZshScriptNamesFlagsWithTheirHelpAndChoices) {
  const auto script = run_protogcd({"completion", "zsh"});
  EXPECT_EQ(script.exit_code, 0);
  EXPECT_THAT(script.output, HasSubstr("#compdef protogcd"));
  EXPECT_THAT(
      script.output,
      HasSubstr("'--log-level[how much to say on stderr]:value:(debug info warning error)'"));
}

TEST(Completion, UnknownShellIsRefused) {
  const auto result = run_protogcd({"completion", "fish"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("'fish' is not allowed: expected one of bash, zsh"));
}

}  // namespace
}  // namespace protogcd
