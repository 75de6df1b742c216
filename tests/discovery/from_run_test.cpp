// Runs that go on from an earlier one, and methods that train another one first.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/nn/head.h"
#include "protogcd/nn/random_state.h"
#include "protogcd/nn/state_dict.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using ::testing::Not;
using testing::run_protogcd;
using testing::signal_protogcd;
using testing::TinyRun;

nlohmann::json result_of(const TinyRun& work, const std::string& run) {
  return nlohmann::json::parse(work.read(run + "/result.json"));
}

StateDict model_of(const TinyRun& work, const std::string& run) {
  return load_state_dict(work.folder / run / "model/model.safetensors");
}

/// The class of every image that a run predicted, by the image's path.
std::map<std::string, std::string> classes_of(const TinyRun& work, const std::string& run) {
  const CsvTable table = CsvTable::read(work.folder / run / "predictions.csv");
  const std::size_t path = table.column("path"), name = table.column("class");
  std::map<std::string, std::string> classes;
  for (const CsvRow& row : table.rows()) classes[row.fields[path]] = row.fields[name];
  return classes;
}

/// Of the images that both predicted and that the first put into a new class, the share that is in
/// the class of the same name.
double kept_share(const TinyRun& work, const std::string& before, const std::string& after) {
  const auto then = classes_of(work, before), now = classes_of(work, after);
  double same = 0, all = 0;
  for (const auto& [path, name] : then) {
    if (!name.starts_with("new-") || !now.contains(path)) continue;
    ++all;
    same += now.at(path) == name ? 1 : 0;
  }
  EXPECT_GT(all, 0);
  return same / all;
}

/// Takes every third unlabelled image away, or brings them back.
void hide_images(const TinyRun& work, bool back) {
  const fs::path images = work.folder / "demo/unlabelled", aside = work.folder / "aside";
  fs::create_directories(aside);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(back ? aside : images))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (back || i % 3 == 0) fs::rename(files[i], (back ? images : aside) / files[i].filename());
}

TEST(FromRun, TakesBlocksPrototypesAndHeadAndSaysSo) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before")));
  const auto told =
      run_protogcd(work.train("after", {"--from", work.folder / "before", "--lr", "1e-9"}));
  json_of(told);
  EXPECT_THAT(told.errors, AllOf(HasSubstr("begins with"), HasSubstr("10 old and 6 new classes"),
                                 HasSubstr("mlp.0.weight")));
  const StateDict before = model_of(work, "before"), after = model_of(work, "after");
  for (const auto& [name, tensor] : before.tensors) {
    if (name == "prototypes" || name == "1.prototype_layer.weight_v") continue;
    EXPECT_LT((after.tensors.at(name) - tensor).abs().max().item<double>(), 1e-6) << name;
  }
  EXPECT_LT((unit_rows(after.tensors.at("prototypes")) - unit_rows(before.tensors.at("prototypes")))
                .abs()
                .max()
                .item<double>(),
            1e-5);
  const auto from = result_of(work, "after").at("from");
  EXPECT_EQ(from.at("classes").size(), 16);
  EXPECT_EQ(from.at("k_old"), 10);
  EXPECT_EQ(from.at("is_first_stage"), false);
  EXPECT_EQ(nlohmann::json::parse(work.read("after/run.json")).at("from"), from);
}

/// What a method keeps of itself, by name.
std::map<std::string, at::Tensor> head_of(const TinyRun& work, const std::string& run) {
  std::map<std::string, at::Tensor> head;
  for (const auto& [name, tensor] : model_of(work, run).tensors)
    if (name.starts_with("1.")) head[name.substr(2)] = tensor;
  return head;
}

TEST(FromRun, WhatItSaysItTookIsWhatItTook) {
  // Each with the parameters that have a row for each class: of them directions alone are taken.
  const std::map<std::string, std::set<std::string>> of_classes = {
      {"protogcd", {"prototype_layer.weight_v"}},
      {"mugcd", {"prototype_layer.weight_v"}},
      {"orca", {"head.weight"}},
      {"rankstats", {"head.weight", "head.bias"}},
      {"uno", {"prototypes.weight"}},
      {"xcon", {}},
      {"gcd", {}}};
  const TinyRun work;
  const auto train = [&](const std::string& method, const std::string& name,
                         std::vector<std::string> more) {
    more.insert(more.end(), {"--method", method});
    if (method == "uno") more.insert(more.end(), {"--overclustering", "2", "--over-hidden", "16"});
    json_of(run_protogcd(work.train(name, more)));
  };
  train("gcd", "other", {});
  for (const auto& [method, rows] : of_classes) {
    SCOPED_TRACE(method);
    const fs::path other = work.folder / "other";
    train(method, "before-" + method, {"--from", other, "--lr", "0.3"});
    for (const std::string& earlier : {"before-" + method, std::string("other")}) {
      SCOPED_TRACE(earlier);
      const std::string name = "after-" + method + "-" + earlier;
      train(method, name, {"--from", work.folder / earlier, "--lr", "1e-9", "--epochs", "1"});
      const auto then = head_of(work, earlier), now = head_of(work, name);
      const auto from = result_of(work, name).at("from");
      const auto said = from.at("head_tensors").get<std::set<std::string>>();
      std::set<std::string> same;
      for (const auto& [parameter, tensor] : now) {
        const auto found = then.find(parameter);
        if (found == then.end() || found->second.sizes() != tensor.sizes()) continue;
        const double change = (found->second - tensor).abs().max().item<double>();
        if (rows.contains(parameter))
          EXPECT_FALSE(said.contains(parameter)) << parameter;
        else if (change < 1e-6)
          same.insert(parameter);
      }
      EXPECT_EQ(said, same);
      // GCD is what muGCD begins with: of such a run its blocks alone.
      EXPECT_EQ(from.at("classes").size(), method == "mugcd" && earlier == "other" ? 0u : 16u);
    }
  }
}

TEST(FromRun, AFileOfFirstPrototypesAndARunContradictEachOther) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before", {"--epochs", "1"})));
  const auto both =
      run_protogcd(work.train("after", {"--from", work.folder / "before", "--init-prototypes",
                                        work.folder / "tiny.safetensors"}));
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.errors, AllOf(HasSubstr("--init-prototypes"), HasSubstr("--from")));
}

TEST(FromRun, ClassesStayWhatTheyWereWhenImagesCome) {
  for (const char* method : {"protogcd", "simgcd"}) {
    SCOPED_TRACE(method);
    const TinyRun work(16);
    const auto train = [&](const char* name, std::vector<std::string> more) {
      more.insert(more.end(), {"--method", method, "--backbone", "builtin", "--image-size", "64",
                               "--views", "bank", "--bank-views", "2", "--batch-size", "32"});
      std::vector<std::string> words = work.train(name, more);
      words.erase(std::ranges::find(words, "--truth"), std::ranges::find(words, "--k"));
      json_of(run_protogcd(words));
    };
    hide_images(work, false);
    train("before", {"--epochs", "30"});
    hide_images(work, true);
    train("after", {"--from", work.folder / "before", "--epochs", "10", "--lr", "0.01"});
    train("anew", {"--epochs", "30", "--seed", "5"});
    EXPECT_GT(classes_of(work, "after").size(), classes_of(work, "before").size());
    // Six numbers dealt out by chance: as many as four of them agree in one run of fifty, five
    // never.
    constexpr double kAboveChance = 0.7;
    EXPECT_GT(kept_share(work, "before", "after"), kAboveChance);
    EXPECT_LT(kept_share(work, "before", "anew"), kAboveChance);
  }
}

TEST(FromRun, OldClassesGoByTheirNamesAndOtherNumbersOfNewOnesAreFoundAnew) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before")));
  const auto told =
      run_protogcd(work.train("after", {"--from", work.folder / "before", "--k", "14"}));
  json_of(told);
  EXPECT_THAT(told.errors, AllOf(HasSubstr("10 old and 0 new classes"),
                                 HasSubstr("new classes are found anew"), HasSubstr("10 and 4")));
  EXPECT_EQ(result_of(work, "after").at("from").at("classes").size(), 10);
}

TEST(FromRun, NewClassesOfAsManyButOtherOldOnesAreFoundAnew) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before")));
  fs::rename(work.folder / "demo/labelled/star", work.folder / "demo/labelled/sun");
  const auto told = run_protogcd(work.train("after", {"--from", work.folder / "before"}));
  json_of(told);
  EXPECT_THAT(told.errors,
              AllOf(HasSubstr("9 old and 0 new classes"), HasSubstr("new classes are found anew"),
                    HasSubstr("old ones of other names")));
}

/// Of the prototypes from `first` on, how far the nearest of the two runs' are apart at most.
double farthest(const at::Tensor& before, const at::Tensor& after, std::int64_t first,
                std::int64_t last) {
  return (unit_rows(before.slice(0, first, last)) - unit_rows(after.slice(0, first, last)))
      .abs()
      .max()
      .item<double>();
}

TEST(FromRun, WithMoreClassesThoseOfTheEarlierRunStayAndOnlyTheOthersAreFoundAnew) {
  const TinyRun work;
  for (const std::string method : {"protogcd", "simgcd", "gcd"}) {
    SCOPED_TRACE(method);
    const std::string before = method + "-before", after = method + "-after";
    json_of(run_protogcd(work.train(before, {"--method", method})));
    std::vector<std::string> words = {
        "--method", method, "--from", work.folder / before,          "--k",
        "19",       "--lr", "1e-9",   "--calibrate-confidence=false"};
    // The general preset begins with clusters, and would count images again.
    if (method == "protogcd") words.insert(words.end(), {"--class-shares", "even"});
    const auto told = run_protogcd(work.command("discover", after, words));
    const auto json = json_of(told);
    EXPECT_EQ(json.at("k"), 19);
    EXPECT_THAT(told.errors, AllOf(HasSubstr("10 old and 6 new classes"),
                                   HasSubstr("3 further new classes are found")));
    EXPECT_EQ(json.at("from").at("classes").size(), 16);
    const at::Tensor then = model_of(work, before).tensors.at("prototypes"),
                     now = model_of(work, after).tensors.at("prototypes");
    ASSERT_EQ(now.size(0), 19);
    if (method != "gcd") {
      EXPECT_LT(farthest(then, now, 0, 16), 1e-5);
    } else {  // clusters of 19 are not those of 16, but each is called what it looks like
      EXPECT_GT(kept_share(work, before, after), 0.5);
    }
  }
}

TEST(FromRun, FurtherClassesBeginAtClustersOfTheImagesThatTheOthersLeave) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before")));
  json_of(run_protogcd(work.command("discover", "after",
                                    {"--from", work.folder / "before", "--k", "19", "--lr", "1e-9",
                                     "--class-shares", "even", "--calibrate-confidence=false"})));
  std::map<std::string, int> images;
  for (const auto& [path, name] : classes_of(work, "after")) ++images[name];
  for (const char* name : {"new-07", "new-08", "new-09"}) EXPECT_GT(images[name], 0) << name;
}

/// Without the number of classes.
std::vector<std::string> counting(std::vector<std::string> words) {
  const auto given = std::ranges::find(words, "--k");
  words.erase(given, given + 2);
  return words;
}

TEST(FromRun, ASmallerEstimateKeepsTheClassesOfTheEarlierRunAndALargerOneAddsToThem) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before")));
  json_of(run_protogcd(work.train("few", {"--k", "11"})));
  const auto discover = [&](const char* name, const char* from, const char* k_max) {
    return run_protogcd(
        counting(work.command("discover", name,
                              {"--from", work.folder / from, "--rule", "elbow", "--k-max", k_max,
                               "--lr", "1e-9", "--class-shares", "even"})));
  };
  const auto smaller = discover("smaller", "before", "12");
  const auto kept = json_of(smaller);
  EXPECT_LE(kept.at("estimate").at("k"), 12);
  EXPECT_EQ(kept.at("k"), 16);
  EXPECT_EQ(kept.at("from").at("classes").size(), 16);
  EXPECT_THAT(smaller.errors, AllOf(HasSubstr("the 16 classes of"), HasSubstr("were estimated")));
  EXPECT_LT(farthest(model_of(work, "before").tensors.at("prototypes"),
                     model_of(work, "smaller").tensors.at("prototypes"), 0, 16),
            1e-5);

  const auto larger = discover("larger", "few", "19");
  const auto added = json_of(larger);
  ASSERT_GT(added.at("estimate").at("k"), 11) << "or this test says nothing";
  EXPECT_EQ(added.at("k").get<int>() + added.value("dropped", 0), added.at("estimate").at("k"));
  EXPECT_EQ(added.at("from").at("classes").size(), 11);
  EXPECT_LT(farthest(model_of(work, "few").tensors.at("prototypes"),
                     model_of(work, "larger").tensors.at("prototypes"), 0, 11),
            1e-5);
}

TEST(FromRun, ClassesOfTheEarlierRunThatFindNoImageAreNotDropped) {
  const TinyRun work(4);
  json_of(run_protogcd(work.train("before", {"--k", "54"})));
  const auto json = json_of(run_protogcd(work.train(
      "after", {"--k", "54", "--drop-empty", "--from", work.folder / "before", "--lr", "1e-9"})));
  EXPECT_EQ(json.at("k"), 54) << "the numbers of the others would change";
}

TEST(FromRun, AnyMethodGoesOnFromAnyOther) {
  const TinyRun work;
  json_of(run_protogcd(work.train("contrasted", {"--method", "gcd", "--wide-projection", "32"})));
  json_of(run_protogcd(work.train(
      "taught", {"--method", "mugcd", "--from", work.folder / "contrasted", "--epochs", "2"})));
  EXPECT_FALSE(fs::exists(work.folder / "taught/first-stage"));
  // A run of the method that it begins with gives its blocks alone: the classifier is new.
  EXPECT_TRUE(result_of(work, "taught").at("from").at("classes").empty());
  json_of(run_protogcd(work.train("own", {"--from", work.folder / "taught"})));
  EXPECT_EQ(result_of(work, "own").at("from").at("classes").size(), 16);
}

TEST(FromRun, WhatDoesNotFitIsRefusedByName) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before")));
  const auto errors_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--from", work.folder / "before"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = run_protogcd(work.train("after", words));
    EXPECT_EQ(result.exit_code, 2) << result.errors;
    EXPECT_FALSE(fs::exists(work.folder / "after/config.toml"));
    return result.errors;
  };
  const VitConfig other{.patch = 8, .width = 64, .depth = 3, .heads = 1, .hidden = 64, .grid = 4};
  save_backbone(work.folder / "other.safetensors", Vit(other, random_vit_state(other)), {},
                ElementType::kFloat32);
  EXPECT_THAT(errors_of({"--backbone", work.folder / "other.safetensors"}),
              AllOf(HasSubstr("--from"), HasSubstr("another backbone")));
  EXPECT_THAT(errors_of({"--image-size", "40"}),
              AllOf(HasSubstr("--from"), HasSubstr("32 pixels"), HasSubstr("--image-size")));
  EXPECT_THAT(errors_of({"--mean", "0.5"}), AllOf(HasSubstr("--from"), HasSubstr("--mean")));
  EXPECT_THAT(errors_of({"--grad-from-block", "1"}),
              AllOf(HasSubstr("--from"), HasSubstr("--grad-from-block 2")));
  EXPECT_THAT(errors_of({"--from", work.folder / "nowhere"}), HasSubstr("is no folder"));
  EXPECT_THAT(errors_of({"--from", work.folder / "demo"}), HasSubstr("is no run"));
  fs::rename(work.folder / "before/result.json", work.folder / "kept.json");
  EXPECT_THAT(errors_of({}), HasSubstr("is not finished"));
  fs::rename(work.folder / "kept.json", work.folder / "before/result.json");
  const auto itself =
      run_protogcd(work.train("before", {"--from", work.folder / "before", "--overwrite"}));
  EXPECT_EQ(itself.exit_code, 2);
  EXPECT_THAT(itself.errors, HasSubstr("the folder of this run"));
  EXPECT_TRUE(fs::exists(work.folder / "before/model/model.json"));
}

TEST(FromRun, ARunBesideItMayBeOverwritten) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before", {"--epochs", "1"})));
  json_of(run_protogcd(work.train("after", {"--epochs", "1"})));
  json_of(run_protogcd(
      work.train("after", {"--from", work.folder / "before", "--epochs", "1", "--overwrite"})));
  EXPECT_TRUE(result_of(work, "after").contains("from"));
}

TEST(FromRun, ResumingIsRefusedWhereTheEarlierRunHasChanged) {
  const TinyRun work;
  json_of(run_protogcd(work.train("before")));
  const auto stopped = signal_protogcd(
      work.train("after", {"--from", work.folder / "before", "--epochs", "60"}), SIGINT, [&] {
        std::error_code error;
        return fs::exists(work.folder / "after/metrics.jsonl", error);
      });
  ASSERT_EQ(stopped.exit_code, 130) << stopped.errors;
  json_of(run_protogcd(work.train("before", {"--seed", "3", "--overwrite"})));
  const auto resumed = run_protogcd({"train", "--out", work.folder / "after", "--resume"});
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_THAT(resumed.errors, HasSubstr("from"));
}

/// Kills a run as soon as `when` says so, or lets it end.
int resume_until(const TinyRun& work, const std::string& run, const std::function<bool()>& when) {
  return signal_protogcd({"train", "--out", work.folder / run, "--resume", "--json"}, SIGKILL, when)
      .exit_code;
}

TEST(FirstStage, KilledInItBetweenAndBehindItARunGoesOnToTheSameBits) {
  for (const char* method : {"mugcd", "protogcd-plus"}) {
    SCOPED_TRACE(method);
    const TinyRun work;
    const std::vector<std::string> how = {"--method", method, "--gcd-epochs", "8",
                                          "--epochs", "8",    "--eval-every", "4"};
    json_of(run_protogcd(work.train("straight", how)));
    std::vector<std::string> every_step = how;
    every_step.insert(every_step.end(), {"--checkpoint-seconds", "0"});
    const fs::path run = work.folder / "killed", stage = run / "first-stage";
    const auto lines_in = [](const fs::path& file) {
      std::error_code error;
      return fs::exists(file, error) ? std::ranges::count(read_text_file(file), '\n') : 0;
    };
    EXPECT_EQ(signal_protogcd(work.train("killed", every_step), SIGKILL,
                              [&] { return lines_in(stage / "metrics.jsonl") >= 3; })
                  .exit_code,
              -SIGKILL);
    EXPECT_FALSE(fs::exists(stage / "result.json"));
    EXPECT_EQ(resume_until(work, "killed", [&] { return fs::exists(stage / "result.json"); }),
              -SIGKILL);
    // As if that had been in the moment before the second stage.
    remove_folder(run / "checkpoints");
    fs::remove(run / "metrics.jsonl");
    EXPECT_EQ(resume_until(work, "killed", [&] { return lines_in(run / "metrics.jsonl") >= 3; }),
              -SIGKILL);
    EXPECT_FALSE(fs::exists(run / "result.json"));
    EXPECT_EQ(resume_until(work, "killed", [] { return false; }), 0);
    work.expect_same("killed", "straight");
    work.expect_same("killed/first-stage", "straight/first-stage");
    EXPECT_EQ(result_of(work, "killed").at("from").at("is_first_stage"), true);
  }
}

TEST(FirstStage, IsTheSameAsTwoRunsOneFromTheOther) {
  const TinyRun work;
  json_of(run_protogcd(work.train("both", {"--method", "mugcd", "--gcd-epochs", "2"})));
  json_of(run_protogcd(
      work.train("first", {"--method", "gcd", "--epochs", "2", "--wide-projection", "65536"})));
  json_of(
      run_protogcd(work.train("second", {"--method", "mugcd", "--from", work.folder / "first"})));
  work.expect_same("both/first-stage", "first");
  work.expect_same("both", "second");
}

TEST(FirstStage, StoppedInItTheRunSaysHowToGoOn) {
  const TinyRun work;
  const auto stopped =
      signal_protogcd(work.train("run", {"--method", "mugcd", "--gcd-epochs", "60"}), SIGINT, [&] {
        std::error_code error;
        return fs::exists(work.folder / "run/first-stage/metrics.jsonl", error);
      });
  ASSERT_EQ(stopped.exit_code, 130) << stopped.errors;
  EXPECT_THAT(stopped.errors, AllOf(HasSubstr("of the first stage"), HasSubstr("--resume"),
                                    Not(HasSubstr("run/first-stage --resume"))));
}

}  // namespace
}  // namespace protogcd
