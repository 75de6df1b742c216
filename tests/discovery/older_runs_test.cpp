// Run folders of earlier releases (tests/fixtures/run-*) go on being read: the same predictions, a
// report, corrections; an unfinished one goes on, or is refused by its version and stays as it is.
// What a later release writes is refused by name.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "protogcd/core/csv.h"
#include "protogcd/core/file_lock.h"
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
  explicit OlderRuns(const std::string& version = "0.1.0") {
    const fs::path fixtures = fs::path(testing::source_folder()) / "tests/fixtures";
    fs::copy(fixtures / ("run-" + version), at, fs::copy_options::recursive);
    for (const char* shared : {"data", "tiny.safetensors"})
      fs::copy(fixtures / "run-0.1.0" / shared, at / shared,
               fs::copy_options::recursive | fs::copy_options::skip_existing);
    for (const auto& entry : fs::recursive_directory_iterator(at)) {
      const fs::path& file = entry.path();
      if (file.extension() == ".toml" || file.filename() == "model.json")
        replace(file, "/tmp/protogcd-" + version, at.string());
    }
  }

  static void replace(const fs::path& file, const std::string& before, const std::string& after) {
    std::string text = read_text_file(file);
    for (std::size_t i = text.find(before); i != text.npos; i = text.find(before, i + after.size()))
      text.replace(i, before.size(), after);
    write_file_atomically(file, text);
  }

  std::vector<std::string> with(std::vector<std::string> words) const {
    words.insert(words.end(),
                 {"--threads", "1", "--device", "cpu", "--dtype", "float32", "--json"});
    return words;
  }

  const testing::TemporaryFolder folder;
  const fs::path at = fs::path(folder / "runs");
};

struct FinishedRun {
  const char *version, *name;
};
constexpr FinishedRun kRuns[] = {{"0.1.0", "bank"},        {"0.1.0", "fresh"},
                                 {"0.1.0", "estimated"},   {"0.1.0", "corrected"},
                                 {"0.1.0", "runs/seed-1"}, {"0.2.0", "bank"}};

std::string flat(std::string name) {
  std::ranges::replace(name, '/', '-');
  return name;
}

TEST(OlderRuns, PredictWhatTheyPredicted) {
  for (const auto& [version, name] : kRuns) {
    SCOPED_TRACE(fmt::format("{} of {}", name, version));
    const OlderRuns runs(version);
    const std::string run = name;
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
  for (const auto& [version, name] : kRuns) {
    SCOPED_TRACE(fmt::format("{} of {}", name, version));
    const OlderRuns runs(version);
    const std::string run = name;
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

class OutliersOf : public ::testing::TestWithParam<const char*> {};

TEST_P(OutliersOf, OlderRunsAreTold) {
  const OlderRuns runs(GetParam());
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
INSTANTIATE_TEST_SUITE_P(OlderRuns, OutliersOf, ::testing::Values("0.1.0", "0.2.0"));

TEST(OlderRuns, HaveAReport) {
  for (const auto& [version, name] : kRuns) {
    SCOPED_TRACE(fmt::format("{} of {}", name, version));
    const OlderRuns runs(version);
    const std::string run = name;
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

/// The runs of 0.2.0 where their paths say that they lie, as a run is resumed there alone.
class RunsInTheirPlace {
 public:
  RunsInTheirPlace() {
    remove_folder(at);
    const OlderRuns copy("0.2.0");
    fs::copy(copy.at, at, fs::copy_options::recursive);
    OlderRuns::replace(at / "unfinished/config.toml", copy.at.string(), at.string());
  }
  ~RunsInTheirPlace() { remove_folder(at); }
  RunsInTheirPlace(const RunsInTheirPlace&) = delete;
  RunsInTheirPlace& operator=(const RunsInTheirPlace&) = delete;

  const fs::path at = "/tmp/protogcd-0.2.0";

 private:
  FileLock lock_{"/tmp/protogcd-0.2.0.lock", "another test is at it"};
};

TEST(OlderRuns, AnUnfinishedOneOfThisFormatGoesOn) {
  const RunsInTheirPlace place;
  const auto result =
      run_protogcd({"train", "--out", place.at / "unfinished", "--resume", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto epoch = [&](const fs::path& file, std::size_t number) {
    const auto lines = split(read_text_file(file), '\n');
    return nlohmann::json::parse(lines.at(number));
  };
  EXPECT_THAT(result.errors, HasSubstr("resuming at epoch 6, step 0"));
  for (std::size_t number = 0; number < 12; ++number) {
    SCOPED_TRACE(number);
    const auto now = epoch(place.at / "unfinished/metrics.jsonl", number).at("train"),
               then = epoch(place.at / "expected/unfinished/metrics.jsonl", number).at("train");
    ASSERT_EQ(now.size(), then.size());
    for (const auto& [name, value] : then.items())  // other processors round otherwise
      EXPECT_NEAR(now.at(name).get<double>(), value.get<double>(), 1e-3) << name;
  }
}

/// What `verb` says of a file that a later release might have written, which stays as it is.
void expect_refused(const std::vector<std::string>& words, const fs::path& file,
                    const std::string& format) {
  const std::string before = sha256_file(file);
  const auto result = run_protogcd(words);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.errors, AllOf(HasSubstr(file.filename().string()), HasSubstr(format)));
  EXPECT_EQ(sha256_file(file), before);
}

TEST(LaterFormats, OfModelsAreRefusedByName) {
  const OlderRuns runs("0.2.0");
  const fs::path file = runs.at / "bank/model/model.json";
  OlderRuns::replace(file, "\"format\": 2", "\"format\": 3");
  expect_refused(
      runs.with({"predict", "--model", runs.at / "bank", "--images", runs.at / "data/unlabelled"}),
      file, "format 3 is not known");
}

TEST(LaterFormats, OfCheckpointsAreRefusedByName) {
  const OlderRuns runs("0.2.0");
  for (const char* name : {"latest", "previous"}) {
    const fs::path file = runs.at / "unfinished/checkpoints" / (name + std::string(".safetensors"));
    OlderRuns::replace(file, "protogcd-checkpoint-3", "protogcd-checkpoint-4");
  }
  expect_refused({"train", "--out", runs.at / "unfinished", "--resume"},
                 runs.at / "unfinished/checkpoints/latest.safetensors", "protogcd-checkpoint-4");
}

TEST(LaterFormats, OfRunsAreRefusedByName) {
  const RunsInTheirPlace runs;
  const fs::path file = runs.at / "unfinished/run.json",
                 metrics = runs.at / "unfinished/metrics.jsonl";
  OlderRuns::replace(file, "\"device\"", "\"format\": 2, \"device\"");
  const std::string before = read_text_file(metrics);
  expect_refused({"train", "--out", runs.at / "unfinished", "--resume"}, file, "format 2");
  EXPECT_EQ(read_text_file(metrics), before);
}

TEST(LaterFormats, OfResultsAreRefusedByName) {
  const OlderRuns runs("0.2.0");
  const fs::path file = runs.at / "bank/result.json";
  OlderRuns::replace(file, "\"all\": 25.0,\n  \"ari\"", "\"format\": 2, \"all\": 25.0,\n  \"ari\"");
  expect_refused({"train", "--out", runs.at / "bank", "--resume"}, file, "format 2");
}

/// The bytes of a folder's files, but for the lock that whoever looks at a bank takes.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const fs::path name = entry.path().filename(); name != "lock")
      files[name] = read_text_file(entry.path());
  return files;
}

struct LaterBank {
  const char *file, *before, *after, *said;
};

class LaterBanks : public ::testing::TestWithParam<LaterBank> {};

TEST_P(LaterBanks, AreRefusedByNameAndStayToTheByte) {
  const RunsInTheirPlace runs;
  const fs::path bank = runs.at / "unfinished/bank";
  // All that is mended in a bank of this format: another identity, a length and a view too many.
  OlderRuns::replace(bank / "bank.json", "\"block\": \"16\"", "\"block\": \"8\"");
  fs::resize_file(bank / "view-00.tokens", 1000);
  for (const char* ending : {".tokens", ".journal"})
    fs::copy_file(bank / ("view-01" + std::string(ending)),
                  bank / ("view-02" + std::string(ending)));
  const auto& [file, text, later, said] = GetParam();
  OlderRuns::replace(bank / file, text, later);
  const auto before = contents(bank);
  expect_refused({"train", "--out", runs.at / "unfinished", "--resume"}, bank / file, said);
  EXPECT_EQ(contents(bank), before);
}

INSTANTIATE_TEST_SUITE_P(LaterFormats, LaterBanks,
                         ::testing::Values(LaterBank{"bank.json", "\"block\"",
                                                     "\"format\": 2, \"block\"", "format 2"},
                                           LaterBank{"view-00.journal", "protogcd-bank 1 ",
                                                     "protogcd-bank 2 ", "protogcd-bank 2"},
                                           LaterBank{"view-02.journal", "protogcd-bank 1 ",
                                                     "protogcd-bank 2 ", "protogcd-bank 2"}));

}  // namespace
}  // namespace protogcd
