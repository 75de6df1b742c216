// Confidence that was calibrated, from images to predictions.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::json_of;
using testing::run_protogcd;
using testing::TinyRun;

nlohmann::json without_confidence(const std::string& text) {
  auto json = nlohmann::json::parse(text);
  json.erase("confidence");
  return json;
}

TEST(ConfidenceRun, ChangesWhatIsSaidAboutClassesNotTheClasses) {
  const TinyRun work(20);
  json_of(run_protogcd(work.command("discover", "plain")));
  json_of(run_protogcd(work.command("discover", "told", {"--calibrate-confidence"})));
  auto other = nlohmann::json::parse(work.read("told/confidence.json"));
  other["old_temperature"] = other["new_temperature"] = 0.2;  // whatever was found here
  write_file_atomically(work.folder / "told/confidence.json", other.dump());
  std::filesystem::remove(work.folder / "told/result.json");
  const auto json =
      json_of(run_protogcd({"discover", "--out", work.folder / "told", "--resume", "--json"}));
  EXPECT_EQ(work.metrics("told"), work.metrics("plain"));
  EXPECT_EQ(without_confidence(work.read("told/model/model.json")),
            without_confidence(work.read("plain/model/model.json")));

  const auto& found = json.at("confidence_calibration");
  // The labelled images of three hidden classes, and one of each class that was kept out.
  EXPECT_EQ(found.at("images"), 3 * 9 + 10);
  EXPECT_LE(found.at("error_after"), found.at("error_before"));
  EXPECT_EQ(nlohmann::json::parse(work.read("told/model/model.json")).at("confidence"), found);
  const CsvTable told = CsvTable::read(work.folder / "told/predictions.csv"),
                 plain = CsvTable::read(work.folder / "plain/predictions.csv");
  ASSERT_EQ(told.rows().size(), plain.rows().size());
  double change = 0;
  for (std::size_t i = 0; i < told.rows().size(); ++i) {
    const auto field = [&](const CsvTable& table, const char* name) {
      return table.rows()[i].fields[table.column(name)];
    };
    for (const char* same : {"class", "typicality", "outlier_score", "is_outlier", "class_1"})
      EXPECT_EQ(field(told, same), field(plain, same)) << same;
    change +=
        std::abs(std::stod(field(told, "confidence")) - std::stod(field(plain, "confidence")));
    EXPECT_EQ(field(told, "confidence"), field(told, "p_1"));
  }
  EXPECT_GT(change, 0.01);

  // `predict` tells the same as the run did.
  json_of(run_protogcd({"predict", "--model", work.folder / "told", "--images",
                        work.folder / "demo/unlabelled", "--out", work.folder / "again.csv",
                        "--device", "cpu", "--dtype", "float32", "--json"}));
  const CsvTable again = CsvTable::read(work.folder / "again.csv");
  std::map<std::string, double> confidence;
  for (const CsvRow& row : again.rows())
    confidence[row.fields[again.column("path")]] =
        std::stod(row.fields[again.column("confidence")]);
  for (const CsvRow& row : told.rows())
    EXPECT_NEAR(confidence.at(row.fields[told.column("path")]),
                std::stod(row.fields[told.column("confidence")]), 1e-4);
}

TEST(ConfidenceRun, OfFewImagesTheMethodsOwnIsKept) {
  const TinyRun work;  // three images of a class are labelled
  const auto json = json_of(run_protogcd(
      work.command("discover", "run", {"--calibrate-confidence", "--calibration-share", "0"})));
  const auto& found = json.at("confidence_calibration");
  EXPECT_LT(found.at("images"), 20);
  EXPECT_EQ(found.at("old_temperature"), found.at("new_temperature"));
  EXPECT_EQ(found.at("error_after"), found.at("error_before"));
}

TEST(ConfidenceRun, ResultAndModelTellTheSameConfidence) {
  const TinyRun work(20);
  json_of(run_protogcd(work.command("discover", "run", {"--calibrate-confidence"})));
  auto other = nlohmann::json::parse(work.read("run/confidence.json"));
  other["old_temperature"] = other["new_temperature"] = 0.2;  // whatever was found here
  write_file_atomically(work.folder / "run/confidence.json", other.dump());
  std::filesystem::remove(work.folder / "run/result.json");
  const auto told =
      json_of(run_protogcd({"discover", "--out", work.folder / "run", "--resume", "--json"}));
  const auto again = json_of(run_protogcd(
      {"evaluate", "--model", work.folder / "run", "--labelled", work.folder / "demo/labelled",
       "--unlabelled", work.folder / "demo/unlabelled", "--truth", work.folder / "demo/truth.csv",
       "--device", "cpu", "--dtype", "float32", "--json"}));
  for (const char* which : {"old", "new", "gap"}) {
    EXPECT_NEAR(told.at("confidence").at(which), again.at("confidence").at(which), 1e-4) << which;
  }
}

TEST(ConfidenceRun, AResumedRunTakesWhatWasFound) {
  const TinyRun work;
  const std::vector<std::string> flags = {"--calibrate-confidence", "--checkpoint-seconds", "0"};
  json_of(run_protogcd(work.command("discover", "run", flags)));
  auto found = nlohmann::json::parse(work.read("run/confidence.json"));
  found["new_temperature"] = 0.25;
  write_file_atomically(work.folder / "run/confidence.json", found.dump());
  std::filesystem::remove(work.folder / "run/result.json");
  const std::vector<std::string> resume = {"discover", "--out", work.folder / "run", "--resume",
                                           "--json"};
  EXPECT_EQ(json_of(run_protogcd(resume)).at("confidence_calibration").at("new_temperature"), 0.25);

  found["format"] = 2;
  write_file_atomically(work.folder / "run/confidence.json", found.dump());
  std::filesystem::remove(work.folder / "run/result.json");
  EXPECT_THAT(run_protogcd(resume).errors, HasSubstr("confidence.json: format 2 is not known"));

  write_file_atomically(work.folder / "run/confidence.json", "{\"settings\": 1}");
  std::filesystem::remove(work.folder / "run/result.json");
  const auto damaged = run_protogcd(resume);
  EXPECT_EQ(damaged.exit_code, 4);
  EXPECT_THAT(damaged.errors, HasSubstr("confidence.json"));
  EXPECT_THAT(damaged.errors, HasSubstr("remove it"));
}

TEST(ConfidenceRun, FewLabelledClassesAreSaidAndPublishedRunsAreLeftAlone) {
  const TinyRun work;
  create_folders(work.folder / "three");
  for (const char* name : {"star", "bolt", "key"})
    std::filesystem::rename(work.folder / "demo/labelled" / name, work.folder / "three" / name);
  const auto few = run_protogcd(work.command(
      "discover", "few", {"--calibrate-confidence", "--labelled", work.folder / "three"}));
  EXPECT_FALSE(json_of(few).contains("confidence_calibration"));
  EXPECT_THAT(few.errors, HasSubstr("confidence is not calibrated: it takes 4 labelled classes"));

  // Long enough that it would be done.
  const auto published = run_protogcd(work.command(
      "discover", "published", {"--as-published", "--epochs", "120", "--eval-every", "120"}));
  EXPECT_FALSE(json_of(published).contains("confidence_calibration"));
  EXPECT_FALSE(std::filesystem::exists(work.folder / "published/confidence.json"));
}

}  // namespace
}  // namespace protogcd
