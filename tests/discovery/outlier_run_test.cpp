// Outliers, as a user meets them: flags in predictions, `protogcd ood`, thresholds of a model.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/model/model.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::int64_t flagged(const CsvTable& predictions) {
  const std::size_t column = predictions.column("is_outlier");
  std::int64_t count = 0;
  for (const auto& row : predictions.rows()) {
    EXPECT_TRUE(row.fields[column] == "0" || row.fields[column] == "1") << row.fields[column];
    if (row.fields[column] == "1") ++count;
  }
  return count;
}

class OutlierRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work = new TinyRun;
    trained = json_of(run_protogcd(work->train("run", {"--outlier-keep", "0.9"})));
  }
  static void TearDownTestSuite() { delete work; }

  static ProgramResult ood(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"ood",     "--model", work->folder / "run", "--threads", "1",
                                      "--dtype", "float32", "--device",           "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words);
  }
  static CsvTable predict(const std::string& images) {
    const auto result =
        run_protogcd({"predict", "--model", work->folder / "run", "--images", work->folder / images,
                      "--out", work->folder / "p.csv", "--overwrite", "--threads", "1", "--dtype",
                      "float32", "--device", "cpu"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return CsvTable::read(work->folder / "p.csv");
  }

  static TinyRun* work;
  static nlohmann::json trained;
};

TinyRun* OutlierRun::work = nullptr;
nlohmann::json OutlierRun::trained;

TEST_F(OutlierRun, TrainingFlagsTheShareAskedForAndPredictAgrees) {
  // 90% of 66, rounded up, are kept.
  EXPECT_EQ(flagged(CsvTable::read(work->folder / "run/predictions.csv")), 6);
  EXPECT_EQ(trained.at("outliers"), 6);
  EXPECT_EQ(flagged(predict("demo/unlabelled")), 6);
  const auto model = nlohmann::json::parse(work->read("run/model/model.json"));
  EXPECT_EQ(model.at("outliers").at("kept"), 0.9);
  EXPECT_EQ(model.at("outliers").at("images"), 66);
  EXPECT_EQ(model.at("outliers").at("concentrations").size(), 16u);
}

TEST_F(OutlierRun, AConcentrationThatNoFitGivesIsRefusedByName) {
  std::filesystem::copy(work->folder / "run/model", work->folder / "foreign-model",
                        std::filesystem::copy_options::recursive);
  auto model = nlohmann::json::parse(work->read("foreign-model/model.json"));
  model["outliers"]["concentrations"][8] = 9223372036854775808U;  // its normaliser would take years
  write_file_atomically(work->folder / "foreign-model/model.json", model.dump());
  const auto refused =
      run_protogcd({"predict", "--model", work->folder / "foreign-model", "--images",
                    work->folder / "demo/unlabelled", "--out", work->folder / "foreign.csv"});
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("model.json"), HasSubstr("concentration")));
}

TEST_F(OutlierRun, OodNamesAnImageThatItCannotRead) {
  std::filesystem::copy(work->folder / "demo/outliers", work->folder / "with-a-bad-one");
  write_file_atomically(work->folder / "with-a-bad-one/no-picture.png", "no picture");
  const auto result = ood(
      {"--id", work->folder / "demo/unlabelled", "--outliers", work->folder / "with-a-bad-one"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.errors, HasSubstr("1 images could not be read, the first: "));
  EXPECT_THAT(result.errors, HasSubstr("no-picture.png"));
}

TEST_F(OutlierRun, OodMeasuresEveryScoreOnEverySet) {
  const auto json = json_of(
      ood({"--id", work->folder / "demo/unlabelled", "--outliers", work->folder / "demo/outliers",
           "known=" + (work->folder / "demo/labelled").string(), "--score", "all", "--out",
           work->folder / "tables", "--json"}));
  EXPECT_EQ(json.at("known_images"), 66);
  ASSERT_EQ(json.at("scores").size(), 7u);
  for (const auto& [score, table] : json.at("scores").items()) {
    const auto& sets = table.at("sets");
    EXPECT_EQ(sets.at("outliers").at("outliers"), 24) << score;
    const double mean = (sets.at("outliers").at("auroc").get<double>() +
                         sets.at("known").at("auroc").get<double>()) /
                        2;
    EXPECT_NEAR(table.at("mean").at("auroc").get<double>(), mean, 1e-9) << score;
  }
  EXPECT_EQ(nlohmann::json::parse(work->read("tables/ood.json")), json);
  const CsvTable csv = CsvTable::read(work->folder / "tables/ood.csv");
  EXPECT_EQ(csv.rows().size(), 7u * 3);
  EXPECT_THAT(work->read("tables/ood.md"),
              AllOf(HasSubstr("| vmf | FPR95 |"), HasSubstr("| mean |")));

  EXPECT_EQ(ood({"--id", work->folder / "demo/unlabelled", "--outliers",
                 work->folder / "demo/outliers", "--out", work->folder / "tables"})
                .exit_code,
            2)
      << "overwrote tables";
}

TEST_F(OutlierRun, BalancedSamplingRepeats) {
  const auto json = json_of(
      ood({"--id", work->folder / "demo/unlabelled", "--outliers", work->folder / "demo/outliers",
           "--score", "mls", "--sampling", "balanced", "--repeats", "4", "--json"}));
  const auto& set = json.at("scores").at("mls").at("sets").at("outliers");
  EXPECT_EQ(set.at("repeats"), 4);
  EXPECT_EQ(set.at("known_images"), 24);
  EXPECT_GT(set.at("deviation").at("auroc").get<double>(), 0);
  EXPECT_THAT(ood({"--id", work->folder / "demo/unlabelled", "--outliers",
                   work->folder / "demo/outliers", "--sampling", "reference"})
                  .errors,
              AllOf(HasSubstr("640"), HasSubstr("66")));
}

TEST_F(OutlierRun, CalibrationChangesWhatPredictFlags) {
  const auto before = work->read("run/model/model.safetensors");
  const auto json = json_of(ood({"--id", work->folder / "demo/unlabelled", "--calibrate", "--score",
                                 "vmf", "--keep", "0.5", "--json"}));
  EXPECT_EQ(json.at("calibration").at("score"), "vmf");
  EXPECT_EQ(flagged(predict("demo/unlabelled")), 33);
  json_of(ood({"--id", work->folder / "demo/unlabelled", "--calibrate", "--score", "energy",
               "--keep", "0.9", "--json"}));
  EXPECT_EQ(flagged(predict("demo/unlabelled")), 6);
  EXPECT_TRUE(work->read("run/model/model.safetensors") == before);
}

TEST_F(OutlierRun, BadInputIsNamed) {
  const std::string known = work->folder / "demo/unlabelled";
  EXPECT_THAT(ood({"--id", known}).errors, HasSubstr("--outliers"));
  EXPECT_THAT(ood({"--id", known, "--outliers", work->folder / "nowhere"}).errors,
              HasSubstr("nowhere"));
  create_folders(work->folder / "empty");
  const auto empty = ood({"--id", known, "--outliers", work->folder / "empty"});
  EXPECT_EQ(empty.exit_code, 4);
  EXPECT_THAT(empty.errors, HasSubstr("empty"));
  EXPECT_THAT(ood({"--id", known, "--outliers", work->folder / "demo/outliers",
                   work->folder / "demo/outliers"})
                  .errors,
              HasSubstr("two sets are called 'outliers'"));
  EXPECT_THAT(ood({"--id", known, "--calibrate"}).errors, HasSubstr("one --score"));
  const auto before = work->read("run/model/model.json");
  EXPECT_THAT(ood({"--id", known, "--calibrate", "--outliers", known}).errors,
              HasSubstr("one --score"));
  EXPECT_THAT(ood({"--id", known, "--calibrate", "--score", "all"}).errors,
              HasSubstr("one --score"));
  EXPECT_EQ(work->read("run/model/model.json"), before);
  EXPECT_THAT(ood({"--id", known, "--outliers", "cifar10:/no/a=b/c"}).errors,
              HasSubstr("/no/a=b/c"));
  EXPECT_THAT(ood({"--id", known, "--outliers", known, "--score", "msq"}).errors,
              HasSubstr("did you mean 'msp'"));
}

TEST_F(OutlierRun, AModelWithoutThresholdLeavesTheColumnEmpty) {
  const auto folder = work->folder / "old";
  create_folders(folder);
  std::filesystem::copy_file(work->folder / "run/model/model.safetensors",
                             folder / "model.safetensors");
  auto json = nlohmann::json::parse(work->read("run/model/model.json"));
  json.erase("outliers");
  write_file_atomically(folder / "model.json", json.dump());
  const auto result =
      run_protogcd({"predict", "--model", folder, "--images", work->folder / "demo/outliers",
                    "--out", work->folder / "old.csv", "--device", "cpu", "--json"});
  EXPECT_EQ(json_of(result).at("outliers"), nullptr);
  const CsvTable predictions = CsvTable::read(work->folder / "old.csv");
  for (const auto& row : predictions.rows()) EXPECT_EQ(row.fields.back(), "");
  const auto vmf = run_protogcd({"ood", "--model", folder, "--id", work->folder / "demo/unlabelled",
                                 "--outliers", work->folder / "demo/outliers", "--score", "vmf",
                                 "--device", "cpu"});
  EXPECT_EQ(vmf.exit_code, 2);
  EXPECT_THAT(vmf.errors, HasSubstr("--calibrate"));
}

TEST_F(OutlierRun, AModelWhoseCosinesAreNotNumbersIsAnError) {
  const Context context{.device = "cpu"};
  TrainedModel model = load_model(work->folder / "run", {}, context);
  model.set_prototypes({.centres = at::full({16, 64}, std::nan(""))});
  model.save(work->folder / "broken");
  const auto result = run_protogcd({"ood", "--model", work->folder / "broken", "--id",
                                    work->folder / "demo/unlabelled", "--outliers",
                                    work->folder / "demo/outliers", "--device", "cpu"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, HasSubstr("not numbers"));
}

}  // namespace
}  // namespace protogcd::testing
