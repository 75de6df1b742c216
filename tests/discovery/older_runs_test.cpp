// Run folders of release 0.1.0 (tests/fixtures/run-0.1.0) go on being read: the same predictions,
// a report, corrections; an unfinished one is refused by its version, and stays as it is.
#include <gmock/gmock.h>

#include <cmath>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using testing::run_protogcd;

/// A copy of the fixtures, whose files name the folder that they now lie in.
struct OlderRuns {
  OlderRuns() {
    const fs::path fixtures = fs::path(testing::source_folder()) / "tests/fixtures/run-0.1.0";
    fs::copy(fixtures, at, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(at)) {
      const fs::path& file = entry.path();
      if (file.extension() != ".toml" && file.filename() != "model.json") continue;
      std::string text = read_text_file(file);
      const std::string before = "/tmp/protogcd-0.1.0";
      for (std::size_t i = text.find(before); i != text.npos; i = text.find(before, i))
        text.replace(i, before.size(), at.string());
      write_file_atomically(file, text);
    }
  }

  std::vector<std::string> with(std::vector<std::string> words) const {
    words.insert(words.end(),
                 {"--threads", "1", "--device", "cpu", "--dtype", "float32", "--json"});
    return words;
  }

  const testing::TemporaryFolder folder;
  const fs::path at = fs::path(folder / "runs");
};

constexpr const char* kRuns[] = {"bank", "fresh", "estimated", "corrected", "runs/seed-1"};

std::string flat(std::string name) {
  std::ranges::replace(name, '/', '-');
  return name;
}

TEST(OlderRuns, PredictWhatTheyPredicted) {
  const OlderRuns runs;
  for (const std::string run : kRuns) {
    SCOPED_TRACE(run);
    const fs::path out = runs.at / "now.csv", then = runs.at / "expected" / flat(run);
    json_of(run_protogcd(runs.with({"predict", "--model", runs.at / run, "--images",
                                    runs.at / "data/unlabelled", "--out", out, "--overwrite"})));
    const CsvTable now = CsvTable::read(out), before = CsvTable::read(then / "predictions.csv");
    ASSERT_EQ(now.rows().size(), before.rows().size());
    ASSERT_EQ(now.rows().size(), 44u);
    for (std::size_t i = 0; i < now.rows().size(); ++i) {
      const auto &a = now.rows()[i].fields, &b = before.rows()[i].fields;
      EXPECT_EQ(fs::path(a[0]).filename(), fs::path(b[0]).filename());
      EXPECT_EQ(a[1], b[1]);
      EXPECT_EQ(a[2], b[2]);
      EXPECT_EQ(a[6], b[6]);
      for (const std::size_t column : {3u, 4u, 5u})  // other processors round otherwise
        EXPECT_NEAR(parse_real(a[column]).value(), parse_real(b[column]).value(), 2e-5);
    }
  }
}

TEST(OlderRuns, AreEvaluatedAsTheyWere) {
  const OlderRuns runs;
  for (const std::string run : kRuns) {
    SCOPED_TRACE(run);
    const auto now = json_of(run_protogcd(runs.with(
        {"evaluate", "--model", runs.at / run, "--labelled", runs.at / "data/labelled",
         "--unlabelled", runs.at / "data/unlabelled", "--truth", runs.at / "data/truth.csv"})));
    const auto before =
        nlohmann::json::parse(read_text_file(runs.at / "expected" / flat(run) / "evaluate.json"));
    EXPECT_EQ(now.at("all"), before.at("all"));
    EXPECT_EQ(now.at("old"), before.at("old"));
    EXPECT_EQ(now.at("new"), before.at("new"));
  }
}

TEST(OlderRuns, TellOutliersAsTheyDid) {
  const OlderRuns runs;
  const auto now = json_of(run_protogcd(
      runs.with({"ood", "--model", runs.at / "bank", "--id", runs.at / "data/unlabelled",
                 "--outliers", runs.at / "data/outliers"})));
  const auto before = nlohmann::json::parse(read_text_file(runs.at / "expected/bank/ood.json"));
  const auto flat_now = now.flatten(), flat_before = before.flatten();
  int compared = 0;
  for (const auto& [key, value] : flat_before.items()) {
    if (!value.is_number() || !flat_now.contains(key)) continue;
    EXPECT_NEAR(flat_now.at(key).get<double>(), value.get<double>(), 1e-3) << key;
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST(OlderRuns, HaveAReport) {
  const OlderRuns runs;
  for (const std::string run : kRuns) {
    SCOPED_TRACE(run);
    const auto result = run_protogcd({"report", runs.at / run});
    if (result.errors.find("npm") != std::string::npos) GTEST_SKIP() << "built without the page";
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_GT(fs::file_size(runs.at / run / "report.html"), 100000u);
  }
}

TEST(OlderRuns, AreCorrected) {
  const OlderRuns runs;
  const auto result = run_protogcd(runs.with({"discover",
                                              "--labelled",
                                              runs.at / "data/labelled",
                                              "--unlabelled",
                                              runs.at / "data/unlabelled",
                                              "--backbone",
                                              runs.at / "tiny.safetensors",
                                              "--heads",
                                              "1",
                                              "--image-size",
                                              "32",
                                              "--batch-size",
                                              "16",
                                              "--head-hidden",
                                              "24",
                                              "--projection",
                                              "12",
                                              "--epochs",
                                              "1",
                                              "--k",
                                              "16",
                                              "--report=false",
                                              "--corrections",
                                              runs.at / "corrections.csv",
                                              "--previous",
                                              runs.at / "bank",
                                              "--out",
                                              runs.at / "next"}));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("1 images carry a label now; accepted: thing"));
}

TEST(OlderRuns, AFinishedOneIsFinishedAndKeepsItsResult) {
  const OlderRuns runs;
  const std::string before = read_text_file(runs.at / "bank/result.json");
  const auto result = run_protogcd({"train", "--out", runs.at / "bank", "--resume", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("finished already"));
  EXPECT_EQ(read_text_file(runs.at / "bank/result.json"), before);
}

TEST(OlderRuns, AnUnfinishedOneIsRefusedByItsVersionAndStays) {
  const OlderRuns runs;
  const fs::path checkpoint = runs.at / "unfinished/checkpoints/latest.safetensors";
  const std::string before = sha256_file(checkpoint),
                    metrics = read_text_file(runs.at / "unfinished/metrics.jsonl");
  const auto result =
      run_protogcd({"train", "--out", runs.at / "unfinished", "--resume", "--json"});
  EXPECT_EQ(result.exit_code, 2) << result.errors;
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("another version"), HasSubstr("finish it with the version")));
  EXPECT_EQ(sha256_file(checkpoint), before);
  EXPECT_EQ(read_text_file(runs.at / "unfinished/metrics.jsonl"), metrics);
}

}  // namespace
}  // namespace protogcd
