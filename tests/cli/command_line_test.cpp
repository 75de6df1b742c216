// The command line as users meet it: exit codes, messages that name the input, nothing
// half-written.
#include <gmock/gmock.h>

#include <algorithm>

#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::protogcd_path;
using testing::run_command;
using testing::run_protogcd;
using testing::TemporaryFolder;

TEST(CommandLine, WithoutArgumentsLeadsToAFirstResultAndFails) {
  const auto result = run_protogcd({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(
      result.output,
      AllOf(HasSubstr("protogcd weights get dino-vits16"), HasSubstr("protogcd weights list"),
            HasSubstr("protogcd discover --labelled"), HasSubstr("protogcd --help")));
}

TEST(CommandLine, HelpAndVersionSucceed) {
  EXPECT_THAT(run_protogcd({"--help"}).output, HasSubstr("info"));
  EXPECT_EQ(run_protogcd({"--help"}).exit_code, 0);
  EXPECT_THAT(run_protogcd({"--version"}).output, HasSubstr("protogcd "));
}

/// The words of every verb, as the overview lists them.
std::vector<std::vector<std::string>> all_verbs() {
  const std::string overview = run_protogcd({"--help"}).output;
  std::istringstream lines(overview.substr(overview.find("Verbs:\n") + 7));
  std::vector<std::vector<std::string>> verbs;
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    std::istringstream words(line.substr(0, line.find("  ", 2)));
    verbs.emplace_back();
    for (std::string word; words >> word;) verbs.back().push_back(word);
  }
  return verbs;
}

TEST(CommandLine, EveryVerbsHelpHasAnExample) {
  const auto verbs = all_verbs();
  EXPECT_GE(verbs.size(), 8u);
  for (auto command : verbs) {
    command.emplace_back("--help");
    const auto result = run_protogcd(command);
    EXPECT_EQ(result.exit_code, 0) << ::testing::PrintToString(command);
    EXPECT_THAT(result.output, HasSubstr("Example:\n")) << ::testing::PrintToString(command);
  }
}

void expect_refused(std::vector<std::string> verb, const std::string& flag,
                    const std::string& value) {
  verb.insert(verb.end(), {flag, value});
  const auto result = run_protogcd(verb);
  EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(verb);
  EXPECT_THAT(result.errors, HasSubstr(flag + ": '" + value + "' is not allowed"));
  EXPECT_EQ(result.output, "") << ::testing::PrintToString(verb);
}

TEST(CommandLine, BadCommonFlagsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> flags = {
      {"--device", "cuda:"}, {"--device", "cuda:-1"}, {"--dtype", "float8"}, {"--threads", "-1"},
      {"--seed", "-1"},      {"--bad-images", "eat"}, {"--max-bad", "101%"}, {"--max-bad", "-1"},
      {"--max-bad", ""},     {"--log-level", "loud"}, {"--threads", "4097"}};
  for (const auto& [flag, value] : flags) expect_refused({"info"}, flag, value);
}

TEST(CommandLine, EveryVerbRefusesThem) {
  for (const auto& verb : all_verbs()) {
    expect_refused(verb, "--device", "banana");
    expect_refused(verb, "--max-bad", "a few");
  }
}

TEST(CommandLine, CommonFlagsAreCheckedInConfigFilesToo) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "run.toml", "device = \"banana\"\n");
  const auto device = run_protogcd({"info", "--config", folder / "run.toml"});
  EXPECT_EQ(device.exit_code, 3);
  EXPECT_THAT(device.errors, HasSubstr("run.toml:1: device: 'banana' is not allowed: expected "
                                       "auto, cpu, cuda or cuda:N"));
  write_file_atomically(folder / "run.toml", "max_bad = \"5 %\"\n");
  EXPECT_EQ(run_protogcd({"info", "--config", folder / "run.toml"}).exit_code, 3);
}

TEST(CommandLine, AResultThatCannotBeWrittenIsAnError) {
  const auto result =
      run_command({"sh", "-c", "exec \"$0\" datasets list > /dev/full", protogcd_path()});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.errors, HasSubstr("stdout: cannot write"));
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
  const auto empty = run_protogcd({"datasets", "make-demo", "--out", ""});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.errors, HasSubstr("--out is needed"));
}

TEST(CommandLine, AMessageIsOneLineWhateverAFileIsCalled) {
  const auto result = run_protogcd({"datasets", "info", "--images", "no\nsuch\x1B[2Jfolder"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr("no\\x0Asuch\\x1B[2Jfolder"));
  EXPECT_EQ(std::ranges::count(result.errors, '\n'), 1);
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

TEST(CommandLine, AOneLetterFlagIsNotTakenForAnother) {
  const auto result = run_protogcd({"report", "-v"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("unknown option '-v'"), Not(HasSubstr("did you mean"))));
}

}  // namespace
}  // namespace protogcd
