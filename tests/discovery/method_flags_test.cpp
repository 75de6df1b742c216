// --method on the command line, in files and on resuming; the short and the long help.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/methods/registry.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using ::testing::Not;
using testing::run_protogcd;
using testing::TinyRun;

TEST(MethodFlags, MethodsAreListed) {
  const auto listed = json_of(run_protogcd({"methods", "--json"})).at("methods");
  ASSERT_EQ(listed.size(), method_names().size());
  for (std::size_t i = 0; i < listed.size(); ++i)
    EXPECT_EQ(listed.at(i).at("name"), method_names()[i]);
}

TEST(MethodFlags, HelpFitsAScreenAndHelpAllHasTheRest) {
  for (const char* verb : {"train", "discover"}) {
    const auto help = run_protogcd({verb, "--help"}), all = run_protogcd({verb, "--help-all"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_LE(std::ranges::count(help.output, '\n'), 54);
    EXPECT_THAT(help.output,
                AllOf(HasSubstr("--labelled"), HasSubstr("--out"), HasSubstr("--method"),
                      HasSubstr("--help-all"), Not(HasSubstr("--momentum"))));
    EXPECT_THAT(all.output, AllOf(HasSubstr("--labelled"), HasSubstr("--momentum"),
                                  HasSubstr("--bank-views"), Not(HasSubstr("more options"))));
  }
}

TEST(MethodFlags, HelpShowsTheMethodsOwnOptions) {
  for (const RegisteredMethod& method : registered_methods()) {
    OptionTable table;
    const auto options = method.options();
    options->declare(table);
    const auto help = run_protogcd({"train", "--method", method.name, "--help"});
    EXPECT_EQ(help.exit_code, 0) << help.errors;
    for (const Option& option : table.options())
      EXPECT_THAT(help.output, HasSubstr(option.flag())) << method.name;
  }
}

TEST(MethodFlags, AnUnknownMethodListsTheKnownOnes) {
  for (const char* verb : {"train", "discover"}) {
    const auto result = run_protogcd({verb, "--method", "nonsense"});
    EXPECT_EQ(result.exit_code, 2);
    for (const std::string& name : method_names()) EXPECT_THAT(result.errors, HasSubstr(name));
  }
}

TEST(MethodFlags, AnotherMethodsOptionNamesItsOwner) {
  const testing::TemporaryFolder folder;
  for (const RegisteredMethod& owner : registered_methods()) {
    OptionTable table;
    const auto options = owner.options();
    options->declare(table);
    for (const Option& option : table.options()) {
      if (methods_with_option(option.key()).size() > 1 || option.is_switch()) continue;
      for (const std::string& other : {method_names().front(), method_names().back()}) {
        if (other == owner.name) continue;
        const auto by_flag = run_protogcd({"train", "--method", other, option.flag(), "1"});
        EXPECT_EQ(by_flag.exit_code, 2);
        EXPECT_THAT(by_flag.errors, AllOf(HasSubstr(option.flag()), HasSubstr(owner.name)));
        write_file_atomically(folder / "c.toml",
                              "method = \"" + other + "\"\n" + option.key() + " = 1\n");
        const auto by_file = run_protogcd({"train", "--config", folder / "c.toml"});
        EXPECT_EQ(by_file.exit_code, 3);
        EXPECT_THAT(by_file.errors, AllOf(HasSubstr("c.toml:2"), HasSubstr(owner.name)));
      }
      break;  // one of each
    }
  }
}

TEST(MethodFlags, EveryMethodRunsFromAFileResumesByItselfAndPredicts) {
  for (const std::string& name : trained_method_names()) {
    SCOPED_TRACE(name);
    const TinyRun tiny(4);
    write_file_atomically(tiny.folder / "c.toml", "method = \"" + name + "\"\n");
    const auto command =
        testing::fit_to_method(tiny.train("run", {"--config", tiny.folder / "c.toml"}), name);
    json_of(run_protogcd(command));
    EXPECT_THAT(tiny.read("run/config.toml"), HasSubstr("method = \"" + name + "\""));
    EXPECT_THAT(tiny.read("run/model/model.json"), HasSubstr("\"" + name + "\""));
    const auto again = run_protogcd({"train", "--out", tiny.folder / "run", "--resume", "--json"});
    EXPECT_EQ(again.exit_code, 0) << again.errors;
    EXPECT_THAT(again.errors, HasSubstr("finished already"));
    json_of(run_protogcd({"predict", "--model", tiny.folder / "run", "--images",
                          tiny.folder / "demo/unlabelled", "--out", tiny.folder / "p.csv",
                          "--threads", "1", "--dtype", "float32", "--device", "cpu", "--json"}));
  }
}

TEST(MethodFlags, AFinishedRunIsNotTakenForOneWithOtherSettings) {
  const TinyRun tiny(4);
  json_of(run_protogcd(tiny.train("run")));
  for (const std::vector<std::string>& other : std::vector<std::vector<std::string>>{
           {"--k", "17"}, {"--image-size", "40"}, {"--grad-from-block", "1"}, {"--lr", "0.3"}}) {
    std::vector<std::string> command = {"train", "--out", tiny.folder / "run", "--resume"};
    command.insert(command.end(), other.begin(), other.end());
    const auto result = run_protogcd(command);
    EXPECT_EQ(result.exit_code, 2) << other[0] << result.errors;
    EXPECT_THAT(result.errors, Not(HasSubstr("finished already"))) << other[0];
  }
}

// Its threshold is found with the temperature that it is used with.
TEST(MethodFlags, AnotherTemperatureLeavesAsManyImagesOutliers) {
  const TinyRun tiny;
  for (const char* tau : {"0.02", "0.1", "1"}) {
    const auto found = json_of(run_protogcd(
        tiny.train(std::string("run") + tau, {"--tau-base", tau, "--outlier-score", "msp"})));
    EXPECT_GE(found.at("outliers").get<int>(), 1) << tau;
    EXPECT_LE(found.at("outliers").get<int>(), 6) << tau;  // a twentieth of 66
  }
}

TEST(MethodFlags, AResumedRunKnowsItsMethodHoweverItIsAskedFor) {
  const TinyRun tiny(4);
  json_of(run_protogcd(tiny.train("run", {"--method", trained_method_names().back()})));
  write_file_atomically(tiny.folder / "c.toml",
                        "out = \"" + (tiny.folder / "run").string() + "\"\n");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"train", "--out", tiny.folder / "run", "--resume=true"},
           {"train", "--config", tiny.folder / "c.toml", "--resume"}}) {
    const auto result = run_protogcd(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("finished already"));
  }
}

TEST(MethodFlags, AnOldAndANewNameTogetherAreRefused) {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / "c.toml", "weight_sup_con = 0.2\nweight_supcon = 0.3\n");
  const auto result = run_protogcd({"train", "--config", folder / "c.toml", "--out", folder / "x"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("weight_sup_con"));
}

TEST(MethodFlags, NamesOfOlderVersionsAreTaken) {
  const TinyRun tiny(4);
  json_of(run_protogcd(tiny.train("now", {"--weight-unsup-con", "0.5"})));
  json_of(run_protogcd(tiny.train("then", {"--weight-contrastive", "0.5"})));
  tiny.expect_same("now", "then");
  EXPECT_THAT(tiny.read("then/config.toml"),
              AllOf(HasSubstr("weight_unsup_con = 0.5"), Not(HasSubstr("weight_contrastive"))));
}

TEST(MethodFlags, CompletionOffersMethodsAndTheirOptions) {
  const auto script = run_protogcd({"completion", "bash"}).output;
  EXPECT_THAT(script, HasSubstr("'train:--method') words='" + join(method_names(), " ") + "'"));
  for (const RegisteredMethod& method : registered_methods()) {
    OptionTable table;
    const auto options = method.options();
    options->declare(table);
    for (const Option& option : table.options()) EXPECT_THAT(script, HasSubstr(option.flag()));
  }
}

}  // namespace
}  // namespace protogcd
