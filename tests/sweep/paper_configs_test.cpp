// Every sweep in configs/: it can be read, and each of its options is one of its verb.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "protogcd/sweep/sweep_file.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> sweep_files() {
  std::vector<std::string> files;
  for (const char* folder : {"configs/paper", "configs/demo"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(testing::source_folder()) / folder))
      if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

class SweepConfig : public ::testing::TestWithParam<std::string> {};

TEST_P(SweepConfig, PlansCommandsThatItsVerbsTake) {
  const testing::TemporaryFolder folder;
  const auto result =
      testing::run_protogcd({"sweep", GetParam(), "--out", folder / "out", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_GT(std::ranges::count(result.output, '\n'), 0);
}

TEST_P(SweepConfig, ThePapersNumbersSayWhereTheyAreFrom) {
  const SweepFile file = read_sweep(GetParam());
  EXPECT_FALSE(file.title.empty());
  for (const auto& [at, values] : file.paper) {
    for (const double value : values) EXPECT_FALSE(value < 0) << file.name;
  }
}

TEST_P(SweepConfig, RunsThatAreComparedWithTheBestEpochEvaluateEveryOne) {
  const SweepFile file = read_sweep(GetParam());
  const bool compares = std::ranges::any_of(file.columns, [&](const SweepColumn& column) {
    return column.step == 0 && (column.pointer == "/all" || column.pointer == "/old");
  });
  if (file.paper.empty() || file.steps.front().verb != "train" || !compares) return;
  const auto& settings = file.steps.front().settings;
  const auto found = std::ranges::find(settings, "eval_every", &Setting::key);
  ASSERT_NE(found, settings.end()) << "the difference would be that of the last epoch";
  EXPECT_EQ(found->values.front(), "1");
}

INSTANTIATE_TEST_SUITE_P(Files, SweepConfig, ::testing::ValuesIn(sweep_files()),
                         [](const auto& file) {
                           std::string name = fs::path(file.param).stem().string();
                           std::ranges::replace(name, '-', '_');
                           return fs::path(file.param).parent_path().filename().string() + "_" +
                                  name;
                         });

TEST(SweepConfigs, CoverTheTablesAndFiguresThatComeFromRuns) {
  const auto files = sweep_files();
  for (const char* number :
       {"table02",  "table03",  "table04",  "table05",  "table06",  "table07", "table08",
        "table09",  "table10",  "table11",  "table12",  "table13",  "table16", "figure05",
        "figure06", "figure07", "figure08", "figure09", "figure10", "figure15"}) {
    EXPECT_TRUE(std::ranges::any_of(files, [&](const std::string& file) {
      return fs::path(file).filename().string().starts_with(number);
    })) << number;
  }
}

}  // namespace
}  // namespace protogcd
