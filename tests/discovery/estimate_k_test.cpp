// estimate-k, and discover without --k, through the command line.
#include <ATen/Context.h>
#include <gmock/gmock.h>

#include <csignal>

#include <fmt/core.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/image/encode.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/cuda.h"
#include "tests/support/recorded_host.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::json_of;
using testing::ProgramResult;
using testing::run_protogcd;
using testing::TinyRun;

/// Short trainings: what is estimated does not matter here.
std::vector<std::string> estimate(const TinyRun& work, const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = work.command(
      "estimate-k", "unused", {"--cluster-steps", "3", "--min-steps", "2", "--epochs", "1"});
  for (const char* flag : {"--k", "--eval-every", "--out"}) {
    const auto given = std::ranges::find(command, flag);
    command.erase(given, given + 2);
  }
  for (std::size_t i = 0; i < more.size(); ++i) {
    const auto given = std::ranges::find(command, more[i]);
    if (more[i].starts_with("--") && given != command.end() && i + 1 < more.size()) {
      *(given + 1) = more[i + 1];
      ++i;
    } else {
      command.push_back(more[i]);
    }
  }
  return command;
}

std::vector<std::string> discover(const TinyRun& work, const std::string& name,
                                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"--cluster-steps", "3", "--min-steps", "2", "--k-max", "13"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<std::string> command = work.command("discover", name, words);
  const auto given = std::ranges::find(command, "--k");
  command.erase(given, given + 2);
  return command;
}

/// Candidates record a graph each.
TEST(EstimateK, CountsOnAGpu) {
  PROTOGCD_NEEDS_CUDA();
  const TinyRun work;
  const auto json =
      json_of(run_protogcd(estimate(work, {"--cluster-steps", "9", "--device", "cuda", "--dtype",
                                           "bfloat16", "--views", "bank"})));
  EXPECT_GE(json.at("k").get<int>(), 10) << json;
}

TEST(EstimateK, SaysANumberAnIntervalAndHowLongItTook) {
  const TinyRun work;
  const auto json = json_of(run_protogcd(estimate(work)));
  const std::int64_t k = json.at("k");
  EXPECT_GE(k, 10);
  EXPECT_LE(k, 19) << "a fifth of 96 images";
  EXPECT_EQ(json.at("k_new"), k - 10);
  EXPECT_LE(json.at("interval")[0], k);
  EXPECT_GE(json.at("interval")[1], k);
  EXPECT_EQ(json.at("by"), "neighbours");
  EXPECT_GT(json.at("neighbours").at("class_size"), 1);
  EXPECT_GT(json.at("seconds"), 0);
  EXPECT_EQ(json.at("truth"), 16);
}

TEST(EstimateK, TheSameSeedGivesTheSameNumbersAlsoSideBySide) {
  const TinyRun work;
  for (const char* threads : {"1", "2"}) {  // with two, candidates are trained side by side
    const auto command = estimate(work, {"--threads", threads, "--rule", "paper"});
    auto first = json_of(run_protogcd(command)), again = json_of(run_protogcd(command));
    first.erase("seconds");
    again.erase("seconds");
    EXPECT_EQ(first, again) << threads << " threads";
  }
}

TEST(EstimateK, ThePapersRuleTrainsEachNumberItComparesOnce) {
  const TinyRun work;
  const auto result = run_protogcd(estimate(work, {"--rule", "paper", "--k-max", "14"}));
  const auto json = json_of(result);
  EXPECT_EQ(json.at("by"), "algorithm 1");
  EXPECT_LE(json.at("curve").size(), 5U);
  for (const auto& point : json.at("curve")) EXPECT_FALSE(point.at("log_proto_score").is_null());
}

TEST(EstimateK, SavesTheCurvesAndComparesTheMethods) {
  const TinyRun work;
  const std::string file = work.folder / "curve.csv";
  const auto json = json_of(run_protogcd(
      estimate(work, {"--curve", file, "--curve-points", "3", "--compare", "--k-max", "14"})));
  for (const char* rule :
       {"neighbours", "clusters", "paper", "max-acc", "silhouette", "elbow", "infomap", "gpc"})
    EXPECT_TRUE(json.at("rules").contains(rule)) << rule;
  const CsvTable curve = CsvTable::read(file);
  EXPECT_THAT(curve.header(),
              ::testing::ElementsAre("k", "frozen_accuracy", "silhouette", "acc_score",
                                     "log_centr_score", "log_proto_score"));
  ASSERT_EQ(curve.rows().size(), 3U);
  EXPECT_EQ(curve.rows()[0].fields[0], "10");
  EXPECT_EQ(curve.rows()[2].fields[0], "14");
  EXPECT_THAT(run_protogcd(estimate(work, {"--curve", file})).errors, HasSubstr("curve.csv"))
      << "nothing is overwritten unasked";
}

TEST(EstimateK, EveryRuleOfTheTableCanBeAskedForAlone) {
  const TinyRun work;
  const auto compared = json_of(run_protogcd(estimate(work, {"--compare"}))).at("rules");
  for (const auto& [rule, answer] : compared.items()) {
    const auto alone = json_of(run_protogcd(estimate(work, {"--rule", rule})));
    EXPECT_EQ(alone.at("k"), answer.at("k")) << rule;
    EXPECT_EQ(alone.at("interval"), answer.at("interval")) << rule;
  }
}

TEST(EstimateK, ThePapersRuleSeesFreshViewsAlsoWhereThereIsABank) {
  const TinyRun work;
  const auto scores = [&](const std::vector<std::string>& views) {
    std::vector<std::string> more = {"--rule", "paper", "--k-max", "12"};
    more.insert(more.end(), views.begin(), views.end());
    return json_of(run_protogcd(estimate(work, more))).at("curve");
  };
  const auto fresh = scores({"--views", "fresh"});
  EXPECT_EQ(scores({"--views", "bank", "--borrow", "2"}), fresh);
}

TEST(EstimateK, CandidatesScoreTheSameWhetherTheirViewsAreKeptOrMadeAgain) {
  const TinyRun work;
  const auto scores = [&](const std::vector<std::string>& room) {
    std::vector<std::string> more = {"--rule", "paper", "--k-max", "12", "--epochs", "2"};
    more.insert(more.end(), room.begin(), room.end());
    return json_of(run_protogcd(estimate(work, more))).at("curve");
  };
  EXPECT_EQ(scores({}), scores({"--cache-gb", "0"}));
}

TEST(EstimateK, WhatCannotBeCountedIsAnErrorThatSaysWhy) {
  const TinyRun work;
  const auto errors = [&](const std::vector<std::string>& more) {
    const ProgramResult result = run_protogcd(estimate(work, more));
    EXPECT_NE(result.exit_code, 0);
    return result.errors;
  };
  EXPECT_THAT(errors({"--k-max", "9"}), AllOf(HasSubstr("--k-max: 9"), HasSubstr("10 classes")));
  EXPECT_THAT(errors({"--k-max", "90"}), AllOf(HasSubstr("--k-max: 90"), HasSubstr("96 images")));
  create_folders(work.folder / "none");
  EXPECT_THAT(errors({"--unlabelled", work.folder / "none"}), HasSubstr("none"));
}

TEST(EstimateK, WithoutRoomForNewClassesTheAnswerIsTheOldOnesAndUnsure) {
  const TinyRun work;
  for (const char* rule : {"neighbours", "clusters", "paper"}) {
    const auto json = json_of(run_protogcd(estimate(work, {"--rule", rule, "--k-max", "10"})));
    EXPECT_EQ(json.at("k"), 10) << rule;
    EXPECT_EQ(json.at("sure"), "unsure") << rule;
    EXPECT_TRUE(json.at("is_largest")) << rule;
  }
}

TEST(EstimateK, ComparedAnIntervalOfOneNumberIsToldWithItsWord) {
  const TinyRun work;
  std::vector<std::string> command = estimate(work, {"--compare", "--k-max", "10"});
  std::erase(command, "--json");
  const ProgramResult table = run_protogcd(command);
  ASSERT_EQ(table.exit_code, 0) << table.errors;
  EXPECT_THAT(table.output, ContainsRegex("neighbours +10 +10-10 +unsure"));
  EXPECT_THAT(table.output, ContainsRegex("clusters +10 +10-10 +unsure"));
  EXPECT_THAT(table.output, ContainsRegex("max-acc +10  +[0-9.]+\n")) << "it says nothing of that";
}

/// Gives each labelled image the label of another class too: the nearest neighbour of each is then
/// of a class that is not its own.
void label_twice(const TinyRun& work) {
  std::vector<fs::path> classes;
  for (const auto& entry : fs::directory_iterator(work.folder / "demo/labelled"))
    classes.push_back(entry.path());
  std::ranges::sort(classes);
  std::vector<std::pair<fs::path, fs::path>> copies;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const fs::path& other = classes[(c + 1) % classes.size()];
    for (const auto& entry : fs::directory_iterator(classes[c]))
      copies.emplace_back(entry.path(), other / ("also-" + entry.path().filename().string()));
  }
  for (const auto& [from, to] : copies) fs::copy(from, to);
}

TEST(EstimateK, WhereNeighboursSayNothingItSaysThatAndShowsTheCurve) {
  const TinyRun work;
  label_twice(work);
  const auto json = json_of(run_protogcd(estimate(work)));
  EXPECT_EQ(json.at("says_nothing"), true) << json;
  EXPECT_EQ(json.at("sure"), "unsure");
  EXPECT_EQ(json.at("interval"), nlohmann::json({10, 25})) << "all up to a fifth of the images";
  const auto& curve = json.at("curve");
  ASSERT_EQ(curve.size(), 9U);
  EXPECT_EQ(curve.front().at("k"), 10);
  EXPECT_EQ(curve.back().at("k"), 25);
  for (const auto& point : curve) {
    EXPECT_TRUE(point.at("silhouette").is_number()) << point;
    EXPECT_TRUE(point.at("frozen_accuracy").is_number()) << point;
  }
  std::vector<std::string> command = estimate(work);
  std::erase(command, "--json");
  const ProgramResult told = run_protogcd(command);
  EXPECT_THAT(told.output, AllOf(HasSubstr("nothing can be said"), HasSubstr("any number from 10 "),
                                 ContainsRegex("K +silhouette +labelled accuracy\n +10 +")));
}

/// Twelve images of each of eight colours, nearly alike: half of those of the first four labelled.
void paint(const fs::path& folder) {
  for (int colour = 0; colour < 8; ++colour) {
    for (int i = 0; i < 12; ++i) {
      Image image(40, 40);
      for (std::size_t p = 0; p < image.pixels.size(); ++p) {
        const auto channel = static_cast<int>(p % 3);
        const int shift = (i * (5 + 2 * channel) + 3 * channel) % 25;
        image.pixels[p] =
            static_cast<std::uint8_t>((colour >> channel & 1) != 0 ? 255 - shift : shift);
      }
      const fs::path where =
          colour < 4 && i < 6 ? folder / "labelled" / fmt::format("c{}", colour) : folder / "rest";
      create_folders(where);
      write_png(where / fmt::format("{}-{}.png", colour, i), image);
    }
  }
}

TEST(EstimateK, HoweverSharpTheirPeaksClustersAndThePapersRuleAreFairlySureAtMost) {
  const TinyRun work;
  paint(work.folder / "painted");
  const auto said_by = [&](const char* rule) {
    std::vector<std::string> command =
        estimate(work, {"--rule", rule, "--labelled", work.folder / "painted/labelled",
                        "--unlabelled", work.folder / "painted/rest", "--cluster-steps", "30"});
    command.erase(std::ranges::find(command, "--truth"), std::ranges::find(command, "--backbone"));
    return json_of(run_protogcd(command)).at("sure");
  };
  EXPECT_EQ(said_by("clusters"), "fairly sure");
  EXPECT_NE(said_by("paper"), "sure");  // where its search ends hangs by a thread
}

TEST(EstimateK, TrainingThatDivergesIsToldAsSuch) {
  const TinyRun work;
  for (const char* threads : {"1", "2"}) {
    const ProgramResult result = run_protogcd(estimate(
        work, {"--lr", "1e30", "--rule", "paper", "--min-steps", "20", "--threads", threads}));
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.errors, HasSubstr("diverged"));
  }
}

TEST(EstimateK, OneOldClassIsEnough) {
  const TinyRun work;
  create_folders(work.folder / "one");
  std::filesystem::rename(work.folder / "demo/labelled/star", work.folder / "one/star");
  const auto json =
      json_of(run_protogcd(estimate(work, {"--labelled", work.folder / "one", "--k-max", "6"})));
  EXPECT_GE(json.at("k"), 1);
  EXPECT_EQ(json.at("k_old"), 1);
  EXPECT_EQ(json.at("sure"), "unsure") << "one class is whole in nearly any clustering";
}

TEST(Discover, WithoutKEstimatesItFirstAndSaysSo) {
  const TinyRun work;
  const auto json = json_of(run_protogcd(discover(work, "run")));
  const auto estimate = nlohmann::json::parse(work.read("run/estimate.json"));
  EXPECT_EQ(json.at("k").get<int>() + json.value("dropped", 0), estimate.at("k"));
  EXPECT_EQ(json.at("estimate").at("interval"), estimate.at("interval"));
  EXPECT_EQ(json.at("classes").size(), json.at("k"));
}

TEST(Discover, CountsTheLabelledImagesThatItKeepsOutOfTraining) {
  const TinyRun work(24);
  const auto alone = json_of(run_protogcd(estimate(work)));
  const auto run =
      json_of(run_protogcd(discover(work, "run", {"--calibration-share", "0.2"}))).at("estimate");
  EXPECT_NEAR(run.at("neighbours").at("class_size"), alone.at("neighbours").at("class_size"), 0.01)
      << "old classes would seem smaller than new ones";
}

TEST(Discover, IsTheSameAsIfTheEstimatedNumberHadBeenGiven) {
  const TinyRun work;
  const auto json = json_of(run_protogcd(discover(work, "run")));
  json_of(run_protogcd(work.command("discover", "given",
                                    {"--k", json.at("estimate").at("k").dump(), "--drop-empty"})));
  work.expect_same("run", "given");
}

TEST(Discover, APriorHoldsForTheNumberThatIsEstimated) {
  const TinyRun work;
  const std::string prior = work.folder / "prior.csv";
  write_file_atomically(prior, "class,share\nstar,0.2\n");
  const auto json = json_of(run_protogcd(discover(work, "run", {"--prior", prior})));
  json_of(run_protogcd(
      work.command("discover", "given",
                   {"--k", json.at("estimate").at("k").dump(), "--prior", prior, "--drop-empty"})));
  work.expect_same("run", "given");
  json_of(run_protogcd(discover(work, "even")));
  EXPECT_NE(work.read("run/metrics.jsonl"), work.read("even/metrics.jsonl"))
      << "it is not forgotten";
}

TEST(Discover, APriorOfAClassThatIsNotFoundIsAnErrorThatKeepsTheEstimate) {
  const TinyRun work;
  write_file_atomically(work.folder / "prior.csv", "class,share\nnew-99,0.5\n");
  const ProgramResult result =
      run_protogcd(discover(work, "run", {"--prior", work.folder / "prior.csv"}));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("prior.csv:2"), HasSubstr("new-99")));
  EXPECT_TRUE(std::filesystem::exists(work.folder / "run/estimate.json"));
}

/// Algorithm 1 trains a model for each number that it compares: those that were scored before a
/// kill are not trained again.
TEST(Discover, AKilledSearchGoesOnWithTheNumbersThatItHasScored) {
  const TinyRun work;
  const std::vector<std::string> paper = {"--rule", "paper"};
  json_of(run_protogcd(discover(work, "straight", paper)));
  const auto scores = work.folder / "run/estimate-scores.json";
  const ProgramResult killed = testing::signal_protogcd(
      discover(work, "run", paper), SIGKILL, [&] { return std::filesystem::exists(scores); });
  EXPECT_EQ(killed.exit_code, -SIGKILL);
  ASSERT_TRUE(std::filesystem::exists(scores));
  const std::size_t scored = nlohmann::json::parse(read_text_file(scores)).at("curve").size();
  EXPECT_GE(scored, 2U);
  const ProgramResult resumed =
      run_protogcd({"discover", "--out", work.folder / "run", "--resume", "--json"});
  json_of(resumed);
  work.expect_same("straight", "run");
  EXPECT_THAT(resumed.errors, HasSubstr(fmt::format("{} numbers were scored before", scored)));
  EXPECT_FALSE(std::filesystem::exists(scores)) << "estimate.json has it all";
}

TEST(Discover, AKilledCountOfClustersGoesOnWithTheModelsItHasTrainedAndTheNumbersItHasScored) {
  const TinyRun work;
  // Numbers beyond those of the smaller model, so that there is a larger one.
  const std::vector<std::string> clusters = {"--rule", "clusters", "--cluster-steps",
                                             "20",     "--k-max",  "40"};
  const auto command = discover(work, "run", clusters);
  json_of(run_protogcd(discover(work, "straight", clusters)));
  const auto models = [&] {
    std::int64_t count = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(work.folder / "run/features", error))
      count += entry.path().filename().string().starts_with("model-") ? 1 : 0;
    return count;
  };
  const auto scored = [&] {
    std::error_code error;
    const auto scores = work.folder / "run/estimate-scores.json";
    if (!fs::exists(scores, error)) return std::int64_t{0};
    return std::ssize(nlohmann::json::parse(read_text_file(scores)).at("curve"));
  };
  const std::vector<std::string> resume = {"discover", "--out", work.folder / "run", "--resume",
                                           "--json"};
  EXPECT_EQ(testing::signal_protogcd(command, SIGKILL, [&] { return models() > 0; }).exit_code,
            -SIGKILL);
  const std::int64_t trained = models();
  const ProgramResult killed =
      testing::signal_protogcd(resume, SIGKILL, [&] { return scored() > 0; });
  EXPECT_EQ(killed.exit_code, -SIGKILL);
  EXPECT_THAT(killed.errors, HasSubstr(fmt::format("{} of 2 models were trained before", trained)));
  const std::int64_t before = scored();
  const ProgramResult resumed = run_protogcd(resume);
  json_of(resumed);
  EXPECT_THAT(resumed.errors,
              AllOf(HasSubstr("2 of 2 models were trained before"),
                    HasSubstr(fmt::format("{} numbers were scored before", before))));
  work.expect_same("straight", "run");
  EXPECT_FALSE(fs::exists(work.folder / "run/features")) << "training needs them no more";
}

TEST(Discover, AnEstimateIsNotTakenForOneWithOtherSettings) {
  const TinyRun work;
  json_of(run_protogcd(discover(work, "run")));
  std::filesystem::remove(work.folder / "run/result.json");
  const ProgramResult result = run_protogcd(
      {"discover", "--out", work.folder / "run", "--resume", "--k-max", "12", "--json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("k_max 13"), HasSubstr("k_max 12")));
}

TEST(Discover, AResumedRunKeepsItsEstimate) {
  const TinyRun work;
  json_of(run_protogcd(discover(work, "straight")));
  const auto has_estimate = [&] {
    return std::filesystem::exists(work.folder / "run/estimate.json");
  };
  const auto command = discover(work, "run", {"--checkpoint-seconds", "0"});
  const ProgramResult killed = testing::signal_protogcd(command, SIGKILL, has_estimate);
  EXPECT_EQ(killed.exit_code, -SIGKILL);
  const std::string before = work.read("run/estimate.json");
  json_of(run_protogcd({"train", "--out", work.folder / "run", "--resume", "--json"}));
  work.expect_same("straight", "run");
  EXPECT_EQ(work.read("run/estimate.json"), before) << "it has the time that the estimate took";
}

// In this process -------------------------------------------------------------------------------

/// Asks to stop as soon as tokens are shown.
class StopsTokens : public testing::RecordedHost {
 public:
  explicit StopsTokens(StopToken stop) : stop_(std::move(stop)) {}
  void show(const ProgressState& state) override {
    if (state.task == "tokens") stop_.request_stop();
  }

 private:
  StopToken stop_;
};

TEST(Discover, StoppedWhileItLooksAtTheImagesItGoesOnWhereItWas) {
  const TinyRun tiny{20};
  const auto run = [&](const std::string& out, const StopToken& stop, bool resume,
                       const std::shared_ptr<testing::RecordedHost>& host) {
    DiscoverOptions options;
    options.data.labelled = tiny.folder / "demo/labelled";
    options.data.unlabelled = tiny.folder / "demo/unlabelled";
    options.backbone.backbone = tiny.folder / "tiny.safetensors";
    options.backbone.image_size = 32;
    options.train.out = tiny.folder / out;
    options.train.loop.schedule.epochs = 1;
    options.train.material.batch = 16;
    options.train.resume = resume;
    options.train.report = false;
    resolve(options, {});
    const Context context{.device = "cpu",
                          .dtype = "float32",
                          .threads = 1,
                          .log = Logger(host),
                          .progress_sink = host,
                          .stop = stop};
    discover(options, context);
  };
  const auto quiet = std::make_shared<testing::RecordedHost>();
  run("straight", {}, false, quiet);
  int stops = 0;
  for (bool done = false; !done && stops < 50;) {
    const StopToken stop;
    const auto host = std::make_shared<StopsTokens>(stop);
    try {
      run("stopped", stops < 4 ? stop : StopToken(), stops > 0, host);
      done = true;
    } catch (const InterruptedError& error) {
      EXPECT_THAT(error.what(), HasSubstr("images are kept"));
      EXPECT_TRUE(std::filesystem::exists(tiny.folder / "stopped/features"));
      ++stops;
    }
    const bool goes_on = stops > 1 || done;
    EXPECT_EQ(host->take().find("images are there already") != std::string::npos, goes_on);
  }
  EXPECT_EQ(stops, 4);
  EXPECT_FALSE(std::filesystem::exists(tiny.folder / "stopped/features"));
  const auto estimate = [&](const std::string& name) {
    auto json = nlohmann::json::parse(tiny.read(name + "/estimate.json"));
    json.erase("seconds");
    return json;
  };
  EXPECT_EQ(estimate("stopped"), estimate("straight"));
  tiny.expect_same("stopped", "straight");
}

}  // namespace
}  // namespace protogcd
