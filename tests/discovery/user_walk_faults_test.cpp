// What people met on their first day with the program, each fault once.
#include <ATen/ATen.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/discovery/frozen_fit.h"
#include "protogcd/nn/head.h"
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

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

TEST(Trust, ABackboneThatDoesNotFitIsNamedAsTheSuspect) {
  const TinyRun work(16);  // its backbone is random
  const auto result =
      run_protogcd(work.command("discover", "run", {"--epochs", "1", "--bank-views", "2"}));
  const auto json = json_of(result);
  EXPECT_LT(json.at("frozen_accuracy").get<double>(), 0.6);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("the backbone's own features only"),
                                   HasSubstr("Another backbone will help most")));
  const auto quiet = run_protogcd(work.train("plain"));
  EXPECT_THAT(quiet.errors, Not(HasSubstr("Another backbone")));  // `train` does as it is told
}

TEST(Trust, ANumberOfClassesIsNeverSureWhereTheBackboneDoesNotFit) {
  const TinyRun work(12);  // its backbone is random
  for (const char* rule : {"neighbours", "clusters", "paper"}) {
    const auto json = json_of(run_protogcd({"estimate-k",
                                            "--labelled",
                                            work.folder / "demo/labelled",
                                            "--unlabelled",
                                            work.folder / "demo/unlabelled",
                                            "--backbone",
                                            work.folder / "tiny.safetensors",
                                            "--image-size",
                                            "32",
                                            "--batch-size",
                                            "16",
                                            "--head-hidden",
                                            "32",
                                            "--projection",
                                            "16",
                                            "--bank-views",
                                            "2",
                                            "--cluster-steps",
                                            "3",
                                            "--min-steps",
                                            "3",
                                            "--epochs",
                                            "1",
                                            "--k-max",
                                            "14",
                                            "--rule",
                                            rule,
                                            "--device",
                                            "cpu",
                                            "--json"}));
    EXPECT_EQ(json.at("sure"), "unsure") << rule;
  }
}

TEST(Trust, FrozenAccuracyIsThatOfNearestNeighbours) {
  at::Tensor features = at::zeros({12, 3});
  for (int i = 0; i < 12; ++i) features[i][i / 6] = 1;
  features.select(1, 2).copy_(at::arange(12) * 0.01);
  const at::Tensor labels = at::arange(12).div(6, "floor").to(at::kLong);
  EXPECT_EQ(frozen_accuracy(unit_rows(features), labels), 1);
  const at::Tensor mixed = at::arange(12).remainder(2).to(at::kLong);
  EXPECT_LT(frozen_accuracy(unit_rows(features), mixed), 0.6);
  EXPECT_TRUE(std::isnan(frozen_accuracy(unit_rows(features), at::zeros({12}, at::kLong))));
}

TEST(Trust, OutliersAreAShareUntilTheyAreCalibrated) {
  const TinyRun work(60);
  const auto run = [&](const std::string& name, const std::string& share) {
    auto words = work.command("discover", name,
                              {"--epochs", "2", "--bank-views", "2", "--calibration-share", share});
    std::erase(words, "--json");
    return run_protogcd(words);
  };
  const auto plain = run("plain", "0");
  ASSERT_EQ(plain.exit_code, 0) << plain.errors;
  EXPECT_THAT(plain.output, AllOf(HasSubstr("least typical"), HasSubstr("5% of them by definition"),
                                  HasSubstr("--calibration-share")));
  EXPECT_THAT(plain.output, Not(HasSubstr("look like none")));
  const auto calibrated = run("calibrated", "0.1");
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.errors;
  EXPECT_THAT(calibrated.output, AllOf(HasSubstr("of 30 labelled images that training did not see"),
                                       HasSubstr("at most about")));
  EXPECT_THAT(work.read("calibrated/model/model.json"), HasSubstr("\"held_out\": true"));
  // All labels are still the run's, and none of the images kept out was trained on.
  EXPECT_EQ(count_of(work.read("calibrated/labels.csv"), ",folder\n"),
            count_of(work.read("plain/labels.csv"), ",folder\n"));
  EXPECT_EQ(count_of(work.read("calibrated/images.csv"), ",calibration,"), 30u);
  // Part of what a run is: another share is another run.
  auto other = work.command(
      "discover", "calibrated",
      {"--epochs", "2", "--bank-views", "2", "--calibration-share", "0.2", "--resume"});
  EXPECT_EQ(run_protogcd(other).exit_code, 2);
}

/// Notes when tasks begin and end.
class TaskTimes : public ProgressSink {
 public:
  using Clock = std::chrono::steady_clock;
  void show(const ProgressState& state) override {
    if (state.task == "bank" && state.last) bank_ended_ = Clock::now();
    if (state.task == "estimate" && !estimate_age_) {
      estimate_age_ = state.seconds;
      since_bank_ = std::chrono::duration<double>(Clock::now() - bank_ended_).count();
    }
  }
  void say(const std::string&) override {}

  Clock::time_point bank_ended_;
  std::optional<double> estimate_age_;
  double since_bank_ = 0;
};

TEST(Waiting, TheTimeOfAnEstimateIsNotThatOfTheBank) {
  const TinyRun work(8);
  DiscoverOptions options;
  options.data.labelled = work.folder / "demo/labelled";
  options.data.unlabelled = work.folder / "demo/unlabelled";
  options.backbone.backbone = work.folder / "tiny.safetensors";
  options.backbone.image_size = 32;
  options.train.material.batch = 16;
  options.train.estimate.rule = ClassNumberRule::kClusters;  // which trains models
  options.train.estimate.cluster_steps = options.train.estimate.min_steps = 2;
  options.train.estimate.epochs = 1;
  options.train.estimate.k_max = 12;
  const auto times = std::make_shared<TaskTimes>();
  const Context context{.device = "cpu", .progress_sink = times};
  resolve(options, context.log);
  estimate_class_number(options, context);
  ASSERT_TRUE(times->estimate_age_);
  EXPECT_LE(*times->estimate_age_, times->since_bank_);
}

TEST(Waiting, OneLineSaysHowLongItTakesAndTheSummaryCountsAll) {
  const TinyRun work(6);
  auto words = work.command("discover", "run",
                            {"--epochs", "1", "--bank-views", "2", "--cluster-steps", "300",
                             "--k-max", "12", "--min-steps", "20"});
  words.erase(std::ranges::find(words, "--k"), std::ranges::find(words, "--k") + 2);
  const auto result = run_protogcd(words);
  const auto json = json_of(result);
  EXPECT_EQ(count_of(result.errors, " in all"), 1u) << result.errors;
  // Three hundred steps to count classes and a few to train: most of the time went before training.
  const double estimate = json.at("estimate").at("seconds");
  EXPECT_GT(json.at("seconds").get<double>(), estimate);
  EXPECT_GT(json.at("peak_memory").at("host_mib"), 50) << "libtorch alone";
}

// Clusterings would end in the middle of the run, other methods with classes of nothing.
TEST(NumberOfClasses, MoreNewClassesThanUnlabelledImagesAreRefusedAndManyEmptyOnesSaid) {
  const TinyRun work(4);  // 20 labelled images of 10 classes, 44 unlabelled
  for (const std::string method : {"protogcd", "gcd", "xcon", "dccl", "gpc"}) {
    SCOPED_TRACE(method);
    const auto refused = run_protogcd(work.train("refused", {"--method", method, "--k", "55"}));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.errors, HasSubstr("--k: 55 classes, 45 of them new, in 44 unlabelled"));
    EXPECT_FALSE(fs::exists(work.folder / "refused"));
  }
  const auto many = run_protogcd(work.train("many", {"--k", "54"}));
  EXPECT_EQ(many.exit_code, 0) << many.errors;
  EXPECT_THAT(many.errors, HasSubstr("of the 44 new classes have no image: --k 54"));
}

/// The images that a run puts together, whatever it calls their class.
std::set<std::set<std::string>> groups_of(const fs::path& predictions) {
  const CsvTable table = CsvTable::read(predictions);
  std::map<std::string, std::set<std::string>> groups;
  for (const CsvRow& row : table.rows())
    groups[row.fields[table.column("class")]].insert(row.fields[table.column("path")]);
  std::set<std::set<std::string>> result;
  for (const auto& [name, images] : groups) result.insert(images);
  return result;
}

TEST(NumberOfClasses, EmptyOnesAreDroppedOnRequestAndNothingElseChanges) {
  const TinyRun work(4);
  const auto all = json_of(run_protogcd(work.train("all", {"--k", "54"})));
  const auto run = run_protogcd(work.train("some", {"--k", "54", "--drop-empty"}));
  const auto some = json_of(run);
  const int k = some.at("k"), dropped = some.at("dropped");
  EXPECT_GT(dropped, 0);
  EXPECT_EQ(k + dropped, 54);
  EXPECT_THAT(run.errors, HasSubstr(fmt::format("{} of the 44 new classes found no image: {} "
                                                "classes are left",
                                                dropped, k)));
  EXPECT_THAT(run.errors, Not(HasSubstr("probably too large")));
  EXPECT_EQ(some.at("classes").size(), static_cast<std::size_t>(k));
  EXPECT_EQ(some.at("classes").back().at("name"), fmt::format("new-{:02}", k - 10));
  for (const auto& found : some.at("classes")) {
    EXPECT_TRUE(!found.at("is_new") || found.at("images") > 0) << found;
  }
  EXPECT_EQ(some.at("all"), all.at("all"));
  EXPECT_EQ(groups_of(work.folder / "some/predictions.csv"),
            groups_of(work.folder / "all/predictions.csv"));

  const auto predicted =
      run_protogcd({"predict", "--model", work.folder / "some", "--images",
                    work.folder / "demo/unlabelled", "--out", work.folder / "again.csv"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.errors;
  EXPECT_EQ(groups_of(work.folder / "again.csv").size(),
            groups_of(work.folder / "some/predictions.csv").size());
}

/// A method that decides by its own clusters.
TEST(NumberOfClasses, ClustersKeepTheirImagesWhereOthersAreDropped) {
  const TinyRun work(4);
  for (const char* run : {"all", "some"}) {
    auto words = work.train(run, {"--method", "gcd", "--k", "30"});
    if (std::string(run) == "some") words.push_back("--drop-empty");
    json_of(run_protogcd(words));
  }
  EXPECT_EQ(groups_of(work.folder / "some/predictions.csv"),
            groups_of(work.folder / "all/predictions.csv"));
}

TEST(NumberOfClasses, KMaxIsNotNamedWhereNobodyGaveIt) {
  const TinyRun work(4);
  fs::path keep;
  for (const auto& entry : fs::directory_iterator(work.folder / "demo/labelled")) {
    if (keep.empty()) {
      keep = entry.path();
    } else {
      remove_folder(entry.path());
    }
  }
  for (int i = 4; i < 64; ++i)
    fs::remove(work.folder / fmt::format("demo/unlabelled/{:05}.png", i));
  auto words = work.command("discover", "run", {"--bank-views", "2"});
  words.erase(std::ranges::find(words, "--k"), std::ranges::find(words, "--k") + 2);
  words.erase(std::ranges::find(words, "--truth"), std::ranges::find(words, "--truth") + 2);
  const auto few = run_protogcd(words);
  EXPECT_EQ(few.exit_code, 4) << few.errors;
  EXPECT_THAT(few.errors, AllOf(HasSubstr("too few to count classes"), Not(HasSubstr("--k-max"))));
}

TEST(SmallFaults, ResumingNothingSaysSo) {
  const TinyRun work(4);
  const auto nothing = run_protogcd({"discover", "--out", work.folder / "nothere", "--resume"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.errors,
              AllOf(HasSubstr("--resume: there is no run in"), HasSubstr("nothere")));
}

TEST(SmallFaults, AResumedRunNamesTheOneImageOrSettingThatDiffers) {
  const TinyRun work(4);
  ASSERT_EQ(run_protogcd(work.train("run")).exit_code, 0);
  fs::remove(work.folder / "run/result.json");
  const auto setting =
      run_protogcd({"train", "--out", work.folder / "run", "--resume", "--momentum", "0.5"});
  EXPECT_EQ(setting.exit_code, 2);
  EXPECT_THAT(setting.errors,
              HasSubstr("--momentum was 0.9 when the run was begun, now it is 0.5"));
  fs::remove(work.folder / "demo/unlabelled/00007.png");
  const auto image = run_protogcd({"train", "--out", work.folder / "run", "--resume"});
  EXPECT_EQ(image.exit_code, 2);
  EXPECT_THAT(image.errors,
              AllOf(HasSubstr("00007.png is no longer there"), Not(HasSubstr("sha"))));
}

TEST(SmallFaults, NoLabelsToCompareWithIsNotSaidEveryEpoch) {
  const TinyRun work(4);
  auto words = work.train("run", {"--eval-every", "1"});
  words.erase(std::ranges::find(words, "--truth"), std::ranges::find(words, "--truth") + 2);
  const auto result = run_protogcd(words);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(count_of(result.errors + result.output, "no labels to compare with"), 1u);
}

TEST(SmallFaults, AFailedRunsFolderDoesNotBlockTheNextTry) {
  const TinyRun work(4);
  ASSERT_EQ(run_protogcd(work.train("run", {"--lr", "1e30"})).exit_code, 8);  // diverges
  remove_folder(work.folder / "run/checkpoints");
  fs::remove(work.folder / "run/metrics.jsonl");
  EXPECT_EQ(run_protogcd(work.train("run")).exit_code, 0);
}

TEST(SmallFaults, DiscoverNeedsUnlabelledImages) {
  const TinyRun work(4);
  const auto alone = run_protogcd({"discover", "--labelled", work.folder / "demo/labelled",
                                   "--backbone", work.folder / "tiny.safetensors", "--image-size",
                                   "32", "--out", work.folder / "run"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.errors,
              AllOf(HasSubstr("no unlabelled images"), HasSubstr("--unlabelled DIR")));
}

TEST(SmallFaults, PathsOfPredictionsOpenFromAnywhereAndPredictPrints) {
  const TinyRun work(4);
  ASSERT_EQ(run_protogcd(work.train("run")).exit_code, 0);
  const CsvTable table = CsvTable::read(work.folder / "run/predictions.csv");
  for (const CsvRow& row : table.rows())
    EXPECT_TRUE(fs::exists(row.fields[table.column("path")])) << row.fields[0];
  const auto printed = run_protogcd(
      {"predict", "--model", work.folder / "run", "--images", work.folder / "demo/unlabelled"});
  EXPECT_EQ(printed.exit_code, 0) << printed.errors;
  const CsvTable rows = CsvTable::parse(printed.output, "printed");
  EXPECT_EQ(rows.rows().size(), table.rows().size());
  const auto json = json_of(run_protogcd({"predict", "--model", work.folder / "run", "--images",
                                          work.folder / "demo/unlabelled", "--json"}));
  EXPECT_EQ(json.at("predictions").size(), table.rows().size());
}

TEST(SmallFaults, AStoppedRunSaysTheWholeCommandToGoOnWith) {
  const Context context{.command = "protogcd discover"};
  EXPECT_EQ(context.command_line({{"out", "my run"}, {"resume", ""}}),
            "protogcd discover " + option_name("out") + " 'my run' " + option_name("resume"));
}

}  // namespace
}  // namespace protogcd
