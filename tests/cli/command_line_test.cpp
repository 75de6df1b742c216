// The command line as users meet it: exit codes, messages that name the input, nothing
// half-written.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "protogcd/core/files.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::run_protogcd;
using testing::TemporaryFolder;

TEST(CommandLine, WithoutArgumentsShowsTheVerbsAndFails) {
  const auto result = run_protogcd({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("Verbs:"));
}

TEST(CommandLine, HelpAndVersionSucceed) {
  EXPECT_THAT(run_protogcd({"--help"}).output, HasSubstr("info"));
  EXPECT_EQ(run_protogcd({"--help"}).exit_code, 0);
  EXPECT_THAT(run_protogcd({"--version"}).output, HasSubstr("protogcd "));
}

TEST(CommandLine, EveryVerbsHelpHasAnExample) {
  const std::string overview = run_protogcd({"--help"}).output;
  std::istringstream lines(overview.substr(overview.find("Verbs:\n") + 7));
  std::string line;
  int verbs = 0;
  while (std::getline(lines, line) && !line.empty()) {
    std::istringstream words(line.substr(0, line.find("  ", 2)));
    std::vector<std::string> command;
    for (std::string word; words >> word;) command.push_back(word);
    command.emplace_back("--help");
    const auto result = run_protogcd(command);
    EXPECT_EQ(result.exit_code, 0) << line;
    EXPECT_THAT(result.output, HasSubstr("Example:\n")) << line;
    ++verbs;
  }
  EXPECT_GE(verbs, 2);
}

TEST(CommandLine, UnknownVerbAndOptionAreNamedWithTheNearest) {
  const auto verb = run_protogcd({"inof"});
  EXPECT_EQ(verb.exit_code, 2);
  EXPECT_THAT(verb.errors, HasSubstr("unknown verb 'inof'; did you mean 'info'?"));
  EXPECT_EQ(verb.output, "");
  const auto option = run_protogcd({"info", "--sead", "3"});
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_THAT(option.errors, HasSubstr("unknown option '--sead'; did you mean '--seed'?"));
  EXPECT_THAT(run_protogcd({"info", "extra"}).errors, HasSubstr("unexpected argument 'extra'"));
}

TEST(CommandLine, BadValuesAreNamedWithWhatIsAllowed) {
  const auto result = run_protogcd({"info", "--threads", "many"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors,
              HasSubstr("--threads: 'many' is not allowed: expected an integer of at least 0"));
  EXPECT_EQ(run_protogcd({"info", "--threads"}).exit_code, 2);
  EXPECT_EQ(run_protogcd({"info", "--seed", "1", "--seed", "2"}).exit_code, 2);
  EXPECT_THAT(run_protogcd({"completion"}).errors, HasSubstr("is needed: which shell"));
}

TEST(CommandLine, ConfigFileGivesOptionsAndFlagsWin) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "run.toml", "threads = 3\n");
  const auto threads = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"info", "--json", "--config", folder / "run.toml"};
    command.insert(command.end(), more.begin(), more.end());
    return nlohmann::json::parse(run_protogcd(command).output).at("threads").get<int>();
  };
  EXPECT_EQ(threads({}), 3);
  EXPECT_EQ(threads({"--threads", "5"}), 5);
}

TEST(CommandLine, ConfigErrorsNameFileLineAndKey) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "run.toml", "# a comment\nthraeds = 3\n");
  const auto result = run_protogcd({"info", "--config", folder / "run.toml"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors,
              HasSubstr("run.toml:2: unknown key 'thraeds'; did you mean 'threads'?"));
  const auto absent = run_protogcd({"info", "--config", folder / "absent.toml"});
  EXPECT_EQ(absent.exit_code, 7);
  EXPECT_THAT(absent.errors, HasSubstr("absent.toml: cannot open"));
}

TEST(CommandLine, JsonGoesToStdoutAlone) {
  const auto result = run_protogcd({"info", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(nlohmann::json::parse(result.output).contains("version"));
  EXPECT_EQ(result.errors, "");
}

}  // namespace
}  // namespace protogcd
