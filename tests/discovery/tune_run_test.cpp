// discover --tune, from images to a run.
#include <ATen/ATen.h>
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <csignal>
#include <map>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/scratch_folder.h"
#include "protogcd/data/calibration_set.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/discovery/trials.h"
#include "protogcd/discovery/tune.h"
#include "protogcd/nn/head.h"
#include "protogcd/training/set_features.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using testing::run_protogcd;
using testing::TinyRun;

/// tune.json without the time.
nlohmann::json choice_of(const TinyRun& work, const std::string& run) {
  auto json = nlohmann::json::parse(work.read(run + "/tune.json"));
  json.erase("seconds");
  return json;
}

TEST(Tune, IsTheSameAsIfItsChoiceHadBeenGiven) {
  const TinyRun work;
  const auto json = json_of(run_protogcd(work.command("discover", "tuned", {"--tune"})));
  const auto& tuning = json.at("tuning");
  EXPECT_EQ(tuning.at("trials").size(), 9U) << "five settings, then two on two draws";
  EXPECT_EQ(tuning.at("classes"), 10);
  EXPECT_EQ(tuning.at("hidden"), 3);
  json_of(run_protogcd(
      work.command("discover", "given",
                   {"--lambda-entropy", fmt::format("{}", tuning.at("weight").get<double>()),
                    "--borrow", fmt::format("{}", tuning.at("borrow").get<double>())})));
  work.expect_same("tuned", "given");
}

/// A choice by hand: what is stored is what counts.
TEST(Tune, AResumedRunTakesTheChoiceThatWasStored) {
  const TinyRun work;
  const auto stored = [&] { return fs::exists(work.folder / "run/tune.json"); };
  const auto killed = testing::signal_protogcd(
      work.command("discover", "run", {"--tune", "--epochs", "30"}), SIGKILL, stored);
  EXPECT_EQ(killed.exit_code, -SIGKILL);
  auto json = nlohmann::json::parse(work.read("run/tune.json"));
  json["times"] = {{"weight", 2}, {"borrow", 0}};
  json["weight"] = 3;
  json["borrow"] = 0;
  write_file_atomically(work.folder / "run/tune.json", json.dump());
  remove_folder(work.folder / "run/checkpoints");  // of the choice before

  const auto refused = run_protogcd(
      {"discover", "--out", work.folder / "run", "--resume", "--lambda-entropy", "1", "--json"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("--lambda-entropy was 1.5 when the run was begun"));

  const auto result =
      json_of(run_protogcd({"discover", "--out", work.folder / "run", "--resume", "--json"}));
  EXPECT_EQ(result.at("tuning").at("weight"), 3);
  json_of(run_protogcd(work.command("discover", "given",
                                    {"--lambda-entropy", "3", "--borrow", "0", "--epochs", "30"})));
  work.expect_same("run", "given");
}

/// A manifest of the collection, whose unlabelled images have these truths.
void write_manifest(const TinyRun& work, const fs::path& file, bool reversed) {
  const CsvTable truth = CsvTable::read(work.folder / "demo/truth.csv");
  std::vector<std::pair<std::string, std::string>> unlabelled;
  for (const CsvRow& row : truth.rows())
    if (row.fields[0].starts_with("unlabelled/"))
      unlabelled.emplace_back(row.fields[0], row.fields[1]);
  CsvWriter writer(file, {"path", "label", "truth"});
  for (const auto& entry : fs::recursive_directory_iterator(work.folder / "demo/labelled"))
    if (entry.is_regular_file())
      writer.row({entry.path().string(), entry.path().parent_path().filename().string(), ""});
  for (std::size_t i = 0; i < unlabelled.size(); ++i) {
    const auto& other = unlabelled[reversed ? unlabelled.size() - 1 - i : i];
    writer.row({work.folder / ("demo/" + unlabelled[i].first), "", other.second});
  }
  writer.commit();
}

TEST(Tune, TheChoiceDoesNotDependOnTheTruth) {
  const TinyRun work(20);
  std::map<std::string, nlohmann::json> results;
  for (const char* name : {"right", "wrong"}) {
    const fs::path manifest = work.folder / (std::string(name) + ".csv");
    write_manifest(work, manifest, std::string(name) == "wrong");
    std::vector<std::string> command =
        work.command("discover", name, {"--tune", "--calibrate-confidence", "--threads", "2"});
    for (const char* flag : {"--labelled", "--unlabelled", "--truth"}) {
      const auto given = std::ranges::find(command, flag);
      command.erase(given, given + 2);
    }
    command.insert(command.end(), {"--manifest", manifest.string()});
    results[name] = json_of(run_protogcd(command));
  }
  EXPECT_NE(results["right"].at("all"), results["wrong"].at("all")) << "else truth changed nothing";
  EXPECT_EQ(choice_of(work, "right"), choice_of(work, "wrong"));
  EXPECT_EQ(work.read("right/confidence.json"), work.read("wrong/confidence.json"));
}

TEST(Tune, FewerThanFourLabelledClassesAreSaidAndNotTuned) {
  const TinyRun work;
  create_folders(work.folder / "three");
  for (const char* name : {"star", "bolt", "key"})
    fs::rename(work.folder / "demo/labelled" / name, work.folder / "three" / name);
  const auto result = run_protogcd(
      work.command("discover", "run", {"--tune", "--labelled", work.folder / "three"}));
  EXPECT_FALSE(json_of(result).contains("tuning"));
  EXPECT_THAT(result.errors, HasSubstr("no settings are tried: it takes 4 labelled classes"));
  EXPECT_FALSE(fs::exists(work.folder / "run/tune.json"));
}

TEST(Tune, AnotherMethodIsTunedByItsOwnWeight) {
  const TinyRun work;
  const auto tuning =
      json_of(run_protogcd(work.command("discover", "run", {"--tune", "--method", "simgcd"})))
          .at("tuning");
  EXPECT_EQ(tuning.at("option"), "memax_weight");
  EXPECT_EQ(tuning.at("trials").size(), 9U);
}

TEST(Tune, WithoutABankOnlyLambdaIsTried) {
  const TinyRun work;
  const auto json =
      json_of(run_protogcd(work.command("discover", "run", {"--tune", "--views", "fresh"})));
  EXPECT_EQ(json.at("tuning").at("trials").size(), 7U);
  for (const auto& trial : json.at("tuning").at("trials"))
    EXPECT_EQ(trial.at("times").at("borrow"), 1);
}

TEST(Tune, ADefaultThatDivergesIsToldAsSuch) {
  const TinyRun work;
  const auto result =
      run_protogcd(work.command("discover", "run", {"--tune", "--lr", "1e30", "--epochs", "8"}));
  EXPECT_EQ(result.exit_code, 8);
  EXPECT_THAT(result.errors, HasSubstr("diverged"));
}

// In this process -------------------------------------------------------------------------------

/// Asks to stop as soon as settings are tried.
class StopsTrials : public ProgressSink {
 public:
  explicit StopsTrials(StopToken stop) : stop_(std::move(stop)) {}
  void show(const ProgressState& state) override {
    if (state.task == "try settings") stop_.request_stop();
  }
  void say(const std::string&) override {}

 private:
  StopToken stop_;
};

struct TinyLibraryRun {
  DiscoverOptions options(const std::string& out) const {
    DiscoverOptions made;
    made.data.labelled = tiny.folder / "demo/labelled";
    made.data.unlabelled = tiny.folder / "demo/unlabelled";
    made.backbone.backbone = tiny.folder / "tiny.safetensors";
    made.backbone.image_size = 32;
    made.train.out = tiny.folder / out;
    made.train.k = 16;
    made.train.tune = true;
    made.train.loop.schedule.epochs = 3;
    made.train.material.batch = 16;
    resolve(made, {});
    return made;
  }

  const TinyRun tiny{20};
  const Context context{.device = "cpu", .dtype = "float32", .threads = 1};
};

TEST(Tune, StoppedItSaysHowToBeginAgainAndLeavesNoChoice) {
  const TinyLibraryRun work;
  Context context = work.context;
  context.command = "protogcd discover";
  context.progress_sink = std::make_shared<StopsTrials>(context.stop);
  try {
    discover(work.options("run"), context);
    FAIL() << "not stopped";
  } catch (const InterruptedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("stopped while settings were tried"));
    EXPECT_THAT(error.hint(), AllOf(HasSubstr("begin the trials again with: protogcd discover"),
                                    HasSubstr("resume")));
  }
  EXPECT_FALSE(fs::exists(work.tiny.folder / "run/tune.json"));
}

/// Of a method whose prototypes have a bias, too: what is judged is what a model of it would say.
TEST(HiddenLabels, ATrialIsJudgedByTheModelsScores) {
  const TinyLibraryRun work;
  const DiscoverOptions options = work.options("run");
  const Backbone backbone = open_backbone(options.backbone, {});
  const ScratchFolder folder;
  TrainingMaterial material(open_data(options.data, {}), backbone, options.train.material,
                            folder / "run", BadImagePolicy::parse("fail", "0"), work.context);
  const HiddenSplit split = hide_classes(material.set().dataset(), 0, 0);
  at::manual_seed(1);
  Candidate model;
  model.unlabelled = unit_rows(at::randn({std::ssize(split.hidden), 64}));
  model.calibration = at::empty({0, 64});
  model.prototypes.centres = at::randn({16, 64});
  model.prototypes.bias = at::zeros({16});
  const auto scores = [&] { return judge_trial(model, material.set(), split, 0.5).scores; };
  EXPECT_LT((scores() - at::mm(model.unlabelled, model.prototypes.centres.t()))
                .abs()
                .max()
                .item<double>(),
            1e-5);
  model.prototypes.bias[5] = 100;
  EXPECT_TRUE((scores().argmax(1) == 5).all().item<bool>());
}

/// What a trial draws and sees, against what the split says of every image.
TEST(HiddenLabels, SamplerLabelsAndFeaturesOfATrialAgree) {
  const TinyLibraryRun work;
  const DiscoverOptions options = work.options("run");
  const Backbone backbone = open_backbone(options.backbone, {});
  Dataset dataset = open_data(options.data, {});
  std::size_t source = 0;  // classes of unequal sizes, so that no two orders look the same
  std::erase_if(dataset.samples, [&](const Sample& sample) {
    return sample.label >= 0 && source++ % 7 < static_cast<std::size_t>(sample.label) / 3;
  });
  keep_out_for_calibration(dataset, 0.1, 0);
  const ScratchFolder folder;
  MaterialOptions needed = options.train.material;
  needed.sees_labelled = true;
  TrainingMaterial material(std::move(dataset), backbone, needed, folder / "run",
                            BadImagePolicy::parse("fail", "0"), work.context);
  const TrainingSet& set = material.set();
  const auto split = std::make_shared<const HiddenSplit>(hide_classes(set.dataset(), 0, 0));
  const TrainingPlan plan{.split = split};

  const MethodInput input = material.method_input(16, 3, 0, plan);
  EXPECT_EQ(input.old_classes, 7);
  EXPECT_EQ(input.k(), 16);
  EXPECT_EQ(input.labelled, std::ssize(split->kept));
  EXPECT_EQ(input.labelled + input.unlabelled, std::ssize(set.train()));
  const std::vector<std::string> names = set.dataset().old_names();
  for (std::size_t c = 0; c < names.size(); ++c)
    EXPECT_EQ(input.classes[static_cast<std::size_t>(split->numbers[c])], names[c]);

  const Sampler sampler = material.make_sampler({}, 0, 0, plan);
  const StepBatch batch = material.labels_of(sampler, 0, plan);
  const auto draws = static_cast<std::int64_t>(sampler.batches_per_epoch()) *
                     static_cast<std::int64_t>(sampler.batch_size());
  int labelled = 0;
  for (std::int64_t i = 0; i < draws; ++i) {
    const std::size_t image = sampler.draw_image(0, static_cast<std::uint64_t>(i));
    const bool is_kept = std::ranges::binary_search(split->kept, static_cast<std::uint32_t>(image));
    EXPECT_EQ(batch.labelled.flatten()[i].item<float>(), is_kept ? 1 : 0);
    if (!is_kept) continue;
    ++labelled;
    const auto given = static_cast<std::size_t>(set.train()[image].label);
    EXPECT_EQ(batch.labels.flatten()[i].item<std::int64_t>(), split->numbers[given]);
  }
  EXPECT_GT(labelled, 0);

  const auto blocks = make_trained_blocks(backbone.vit, material.first_trained_block(),
                                          material.placement().trained, at::kCPU);
  MaterialFeatures all(material, *blocks, work.context),
      trial(material, *blocks, work.context, plan);
  const at::Tensor whole = at::cat({unit_features(all, SampleSet::kLabelled),
                                    unit_features(all, SampleSet::kUnlabelled)}),
                   seen = at::cat({unit_features(trial, SampleSet::kLabelled),
                                   unit_features(trial, SampleSet::kUnlabelled)});
  ASSERT_EQ(seen.sizes(), whole.sizes());
  for (std::int64_t place = 0; place < seen.size(0); ++place) {
    const auto image = static_cast<std::int64_t>(sampler.image(static_cast<std::size_t>(place)));
    EXPECT_TRUE(at::equal(seen[place], whole[image])) << place;
  }
  EXPECT_EQ(trial.count(SampleSet::kLabelled), input.labelled);
  EXPECT_EQ(trial.count(SampleSet::kUnlabelled), input.unlabelled);
  EXPECT_EQ(trial.labels().size(0), input.labelled);
  EXPECT_EQ(trial.labels()[0].item<std::int64_t>(), split->labels[0]);
}

}  // namespace
}  // namespace protogcd
