// A first look without training, and collections of which nobody has labelled an image.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using ::testing::Not;
using testing::run_protogcd;
using testing::TinyRun;

std::vector<std::string> without(std::vector<std::string> command,
                                 const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    const auto given = std::ranges::find(command, flag);
    if (given != command.end()) command.erase(given, given + 2);
  }
  return command;
}

/// The tiny collection without the flags that only training takes.
std::vector<std::string> untrained(const TinyRun& work, const std::string& verb,
                                   const std::string& name,
                                   const std::vector<std::string>& more = {}) {
  return without(work.command(verb, name, more),
                 {"--epochs", "--batch-size", "--head-hidden", "--projection", "--eval-every"});
}

std::vector<std::string> column_of(const fs::path& file, const std::string& name) {
  const CsvTable table = CsvTable::read(file);
  std::vector<std::string> values;
  for (const auto& row : table.rows()) values.push_back(row.fields[table.column(name)]);
  return values;
}

class FirstLook : public ::testing::Test {
 protected:
  std::vector<std::string> quick(const std::string& name,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = untrained(work_, "discover", name);
    command.emplace_back("--quick");
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  const TinyRun work_;
};

TEST_F(FirstLook, LeavesARunFolderThatPredictAndReportRead) {
  const auto json = json_of(run_protogcd(quick("run")));
  EXPECT_EQ(json.at("k"), 16);
  EXPECT_EQ(json.at("epochs"), 0);
  EXPECT_FALSE(fs::exists(work_.folder / "run/checkpoints"));
  EXPECT_THAT(work_.read("run/config.toml"),
              AllOf(HasSubstr("method = \"kmeans\""), Not(HasSubstr("\nepochs"))));
  json_of(run_protogcd({"predict", "--model", work_.folder / "run", "--images",
                        work_.folder / "demo/unlabelled", "--out", work_.folder / "p.csv",
                        "--threads", "1", "--dtype", "float32", "--device", "cpu", "--json"}));
  EXPECT_EQ(column_of(work_.folder / "p.csv", "class"),
            column_of(work_.folder / "run/predictions.csv", "class"));
  json_of(run_protogcd({"ood", "--model", work_.folder / "run", "--id",
                        work_.folder / "demo/unlabelled", "--outliers",
                        work_.folder / "demo/outliers", "--device", "cpu", "--json"}));
}

// All labelled images take part: `cluster` knows nothing of images kept out for outliers.
TEST_F(FirstLook, FindsTheClustersThatTheClusterVerbFinds) {
  json_of(run_protogcd(quick("run", {"--calibration-share", "0"})));
  auto command = untrained(work_, "cluster", "clusters.csv");
  std::erase(command, "--report=false");
  json_of(run_protogcd(command));
  const auto found = column_of(work_.folder / "run/predictions.csv", "class");
  auto clusters = column_of(work_.folder / "clusters.csv", "cluster");
  clusters.erase(clusters.begin(), clusters.end() - static_cast<std::ptrdiff_t>(found.size()));
  std::map<std::string, std::string> name_of;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(name_of.try_emplace(clusters[i], found[i]).first->second, found[i]) << i;
  EXPECT_GT(name_of.size(), 10U);
}

TEST_F(FirstLook, LeadsToACommandThatTrains) {
  auto command = quick("first look", {"--calibration-share", "0"});
  std::erase(command, "--json");
  const auto looked = run_protogcd(command);
  ASSERT_EQ(looked.exit_code, 0) << looked.errors;
  const std::string next = nlohmann::json::parse(work_.read("first look/result.json")).at("next");
  EXPECT_THAT(looked.output, HasSubstr("now train:\n  " + next));
  ASSERT_TRUE(next.starts_with("protogcd discover ")) << next;
  const std::string pasted = testing::protogcd_path() + next.substr(std::string("protogcd").size());
  const auto trained =
      testing::run_command({"sh", "-c", pasted + " --epochs 1 --dtype float32 --json"});
  ASSERT_EQ(trained.exit_code, 0) << next << trained.errors;
  const auto json = nlohmann::json::parse(trained.output);
  EXPECT_EQ(json.at("k"), 16);
  EXPECT_EQ(json.at("epochs"), 1);
  EXPECT_FALSE(json.contains("next"));
  EXPECT_TRUE(fs::exists(work_.folder / "first look-trained/model"));
}

TEST_F(FirstLook, RefusesWhatOnlyTrainingKnows) {
  const auto by_method = run_protogcd(quick("run", {"--method", "simgcd"}));
  EXPECT_EQ(by_method.exit_code, 2);
  EXPECT_THAT(by_method.errors, AllOf(HasSubstr("--quick"), HasSubstr("--method")));
  for (const char* flag : {"--epochs", "--lr", "--bank-views", "--cluster-steps"}) {
    const auto result = run_protogcd(quick("run", {flag, "3"}));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, AllOf(HasSubstr(flag), HasSubstr("does not train")));
  }
  EXPECT_FALSE(fs::exists(work_.folder / "run"));
}

TEST_F(FirstLook, CountsClassesByNeighboursOrByClustersOfFrozenFeatures) {
  const auto json =
      json_of(run_protogcd(without(quick("run", {"--k-max", "18"}), {"--k"}))).at("estimate");
  EXPECT_EQ(json.at("by"), "neighbours");
  EXPECT_GE(json.at("k").get<int>(), 10);
  const auto clusters =
      json_of(
          run_protogcd(without(quick("other", {"--k-max", "18", "--rule", "clusters"}), {"--k"})))
          .at("estimate");
  EXPECT_EQ(clusters.at("by"), "frozen clusters");
  EXPECT_NE(clusters.at("sure"), "sure");
}

TEST_F(FirstLook, IsABaselineInTrainAndGoesOnWhereItStood) {
  const auto command = untrained(work_, "train", "run", {"--method", "kmeans"});
  EXPECT_FALSE(json_of(run_protogcd(command)).contains("next"));
  const auto again = run_protogcd({"train", "--out", work_.folder / "run", "--resume"});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.errors, HasSubstr("finished already"));
}

// Nobody has labelled an image -------------------------------------------------------------------

class WithoutLabels : public ::testing::Test {
 protected:
  const TinyRun work_;
};

TEST_F(WithoutLabels, ClassesAreCountedAndNothingIsSure) {
  auto command = without(work_.command("estimate-k", "unused", {"--cluster-steps", "3"}),
                         {"--labelled", "--k", "--eval-every", "--out"});
  for (const std::string& word :
       {std::string("--compare"), std::string("--curve"), (work_.folder / "c.csv").string(),
        std::string("--curve-points"), std::string("3")})
    command.push_back(word);
  const auto json = json_of(run_protogcd(command));
  EXPECT_EQ(json.at("k_old"), 0);
  EXPECT_EQ(json.at("k_new"), json.at("k"));
  EXPECT_GE(json.at("k").get<int>(), 2);
  EXPECT_EQ(json.at("sure"), "unsure");
  EXPECT_TRUE(json.at("rules").contains("elbow"));
  EXPECT_FALSE(json.at("rules").contains("max-acc")) << "it needs labelled images";
  EXPECT_FALSE(json.at("rules").contains("paper")) << "so does this";
  EXPECT_EQ(column_of(work_.folder / "c.csv", "k").back(), "13") << "a fifth of the 66 images";

  command.insert(command.end(), {"--rule", "paper", "--overwrite"});
  const auto refused = run_protogcd(command);
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("labelled"), HasSubstr("--rule"), HasSubstr("--k")));
}

TEST_F(WithoutLabels, DiscoverFindsNewClassesAlone) {
  const auto command =
      without(work_.command("discover", "run", {"--cluster-steps", "3"}), {"--labelled", "--k"});
  const auto json = json_of(run_protogcd(command));
  EXPECT_EQ(json.at("k_new"), json.at("k"));
  EXPECT_EQ(json.at("estimate").at("sure"), "unsure");
  for (const std::string& is_new : column_of(work_.folder / "run/predictions.csv", "is_new"))
    EXPECT_EQ(is_new, "1");
  const auto again = run_protogcd({"discover", "--out", work_.folder / "run", "--resume"});
  EXPECT_THAT(again.errors, HasSubstr("finished already")) << "its files can be read again";
}

TEST_F(WithoutLabels, AFirstLookWorksToo) {
  auto command = without(untrained(work_, "discover", "run"), {"--labelled", "--k"});
  command.insert(command.end(), {"--quick", "--report=true"});
  std::erase(command, "--report=false");
  const auto json = json_of(run_protogcd(command));
  EXPECT_EQ(json.at("estimate").at("sure"), "unsure");
  EXPECT_EQ(json.at("k_new"), json.at("k"));
}

}  // namespace
}  // namespace protogcd
