// `--as-published` through the command line: what a run, an estimate and a table of outliers are
// then made of.
#include <gmock/gmock.h>

#include "protogcd/core/options.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::json_of;
using testing::run_protogcd;
using testing::TinyRun;

TEST(AsPublishedRun, ItsConfigurationSaysWhatItStoodForAndItGoesOn) {
  const TinyRun work;
  std::vector<std::string> command =
      work.command("discover", "run", {"--as-published", "--outlier-score", "energy"});
  for (const char* flag : {"--dtype", "--eval-every"}) {
    const auto given = std::ranges::find(command, flag);
    command.erase(given, given + 2);
  }
  json_of(run_protogcd(command));
  auto config = toml_scalars(work.folder / "run/config.toml");
  EXPECT_EQ(config["views"], "fresh");
  EXPECT_EQ(config["dtype"], "tf32");
  EXPECT_EQ(config["preset"], "reference");
  EXPECT_EQ(config["outlier_score"], "energy") << "it was said";
  // Three epochs, each with an evaluation.
  const auto metrics = work.metrics("run");
  ASSERT_EQ(metrics.size(), 3u);
  for (const auto& line : metrics) EXPECT_TRUE(line.contains("unlabelled")) << line;
  command.push_back("--resume");
  EXPECT_THAT(run_protogcd(command).errors, HasSubstr("finished already"));
}

TEST(AsPublishedRun, ClassesAreCountedByThePapersRuleInThreeEpochs) {
  const TinyRun work;
  std::vector<std::string> command =
      work.command("estimate-k", "unused", {"--as-published", "--k-max", "12"});
  for (const char* flag : {"--k", "--eval-every", "--out", "--epochs"}) {
    const auto given = std::ranges::find(command, flag);
    command.erase(given, given + 2);
  }
  const auto published = json_of(run_protogcd(command));
  EXPECT_THAT(published.at("by").get<std::string>(), HasSubstr("algorithm 1"));
  const auto curve = [&](const char* epochs) {
    auto other = command;
    other.insert(other.end(), {"--epochs", epochs});
    return json_of(run_protogcd(other)).at("curve");
  };
  ASSERT_FALSE(published.at("curve").empty());
  EXPECT_EQ(curve("3"), published.at("curve"));
  EXPECT_NE(curve("2"), published.at("curve"));
}

TEST(AsPublishedRun, OutliersAreScoredAndDrawnAsInThePublishedTables) {
  const TinyRun work;
  json_of(run_protogcd(work.train("run")));
  const std::vector<std::string> command = {"ood",        "--as-published",
                                            "--model",    work.folder / "run",
                                            "--id",       work.folder / "demo/unlabelled",
                                            "--outliers", work.folder / "demo/outliers",
                                            "--json"};
  const auto refused = run_protogcd(command);
  EXPECT_EQ(refused.exit_code, 4) << "a fifth of 66 images is no table";
  EXPECT_THAT(refused.errors, HasSubstr("the released code's sampling"));
  auto all = command;
  all.insert(all.end(), {"--sampling", "all"});
  const auto json = json_of(run_protogcd(all));
  EXPECT_EQ(json.at("sampling"), "all") << "it was said";
  EXPECT_EQ(json.at("scores").size(), 1u);
  EXPECT_TRUE(json.at("scores").contains("msp"));
}

TEST(AsPublishedRun, AnotherShareOfLabelsIsDrawnAndEvaluateKnowsIt) {
  const TinyRun work(8);
  const std::vector<std::string> split = {
      "--old-classes", "10", "--labelled-share", "0.75", "--truth", work.folder / "demo/truth.csv"};
  const auto json = json_of(run_protogcd(work.train("run", split)));
  EXPECT_EQ(json.at("images").at("labelled"), 60) << "three quarters of ten classes of eight";
  const auto evaluated = json_of(
      run_protogcd({"evaluate", "--model", work.folder / "run", "--labelled",
                    work.folder / "demo/labelled", "--unlabelled", work.folder / "demo/unlabelled",
                    "--truth", work.folder / "demo/truth.csv", "--dtype", "float32", "--json"}));
  EXPECT_EQ(evaluated.at("unlabelled").at("samples"), json.at("images").at("unlabelled"));
  EXPECT_EQ(evaluated.at("unlabelled").at("all"), json.at("all"));

  const auto refused = run_protogcd(
      {"datasets", "info", "--labelled", work.folder / "demo/labelled", "--labelled-share", "0.2"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("--labelled-share"));
}

}  // namespace
}  // namespace protogcd
