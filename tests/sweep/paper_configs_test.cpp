// Every sweep in configs/: it can be read, and each of its options is one of its verb.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "protogcd/sweep/sweep_file.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::string> sweep_files() {
  std::vector<std::string> files;
  for (const char* folder : {"configs/paper", "configs/demo", "configs/field"}) {
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
  // as_published does (tests/discovery/as_published_test.cpp).
  const auto& settings = file.steps.front().settings;
  const auto found = std::ranges::find(settings, "as_published", &Setting::key);
  ASSERT_NE(found, settings.end()) << "the difference would be that of the last epoch";
  EXPECT_THAT(found->values, ElementsAre("true"));
  EXPECT_EQ(std::ranges::find(settings, "eval_every", &Setting::key), settings.end());
}

/// Each accuracy of all classes lies between those of old and of new ones: a number in the wrong
/// place rarely does. The one exception is the paper's own.
TEST_P(SweepConfig, AccuraciesOfOtherMethodsFitTogether) {
  const SweepFile file = read_sweep(GetParam());
  std::vector<std::string> names;
  for (const SweepColumn& column : file.columns) names.push_back(column.name);
  if (names != std::vector<std::string>{"All", "Old", "New"}) return;
  auto methods = file.paper_methods;
  if (!file.paper.empty()) methods.emplace_back("its own", file.paper);
  for (const auto& [method, numbers] : methods) {
    EXPECT_FALSE(numbers.empty()) << method;
    for (const auto& [at, values] : numbers) {
      if (std::isnan(values[1]) || std::isnan(values[2])) continue;  // All is told alone
      const bool is_odd = file.title.starts_with("Table 2:") && method == "DCCL" && at[0] == 0;
      const bool fits = values[0] >= std::min(values[1], values[2]) &&
                        values[0] <= std::max(values[1], values[2]);
      EXPECT_EQ(fits, !is_odd) << method << " at " << at.back();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, SweepConfig, ::testing::ValuesIn(sweep_files()),
                         [](const auto& file) {
                           std::string name = fs::path(file.param).stem().string();
                           std::ranges::replace(name, '-', '_');
                           return fs::path(file.param).parent_path().filename().string() + "_" +
                                  name;
                         });

SweepFile paper_sweep(const std::string& name) {
  return read_sweep(fs::path(testing::source_folder()) / "configs/paper" / (name + ".toml"));
}

/// What a sweep tells of another method, in the order of the axis.
PaperNumbers numbers_of(const SweepFile& file, const std::string& method) {
  const auto found =
      std::ranges::find(file.paper_methods, method, &std::pair<std::string, PaperNumbers>::first);
  return found == file.paper_methods.end() ? PaperNumbers() : found->second;
}

TEST(SweepConfigs, OtherMethodsHaveThePapersNumbers) {
  using At = std::vector<std::size_t>;
  EXPECT_THAT(numbers_of(paper_sweep("table02-generic"), "GCD"),
              ElementsAre(Pair(At{0}, ElementsAre(91.5, 97.9, 88.2)),
                          Pair(At{1}, ElementsAre(73.0, 76.2, 66.5)),
                          Pair(At{2}, ElementsAre(74.1, 89.8, 66.3))));
  EXPECT_THAT(numbers_of(paper_sweep("table03-fine-grained"), "DCCL"),
              ElementsAre(Pair(At{0}, ElementsAre(63.5, 60.8, 64.9)),
                          Pair(At{1}, ElementsAre(43.1, 55.7, 36.2))))
      << "it has no others";
  EXPECT_THAT(numbers_of(paper_sweep("table05-dinov2"), "SimGCD").at({1, 2}),
              ElementsAre(63.9, 69.9, 60.9));
  EXPECT_THAT(numbers_of(paper_sweep("table09-ood-cifar100"), "XCon").at({0}),
              ElementsAre(42.81, 90.74, 97.95));
  for (const char* table : {"table02", "table03"}) {
    const std::string name = table;
    const std::string all = name == "table02" ? "-generic" : "-fine-grained";
    EXPECT_EQ(numbers_of(paper_sweep(name + all), "K-means"), paper_sweep(name + "-k-means").paper);
  }
}

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
