// Last and best epochs, read from the lines of metrics.jsonl.
#include "protogcd/run/epoch_comparison.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "protogcd/core/json.h"
#include "protogcd/run/run_result.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;

Evaluation evaluation_of(double all) {
  Evaluation evaluation;
  evaluation.samples = 40;
  evaluation.accuracy = {all, all + 0.1, all - 0.1};
  evaluation.intervals = AccuracyIntervals{.all = {all - 0.05, all + 0.05},
                                           .old_classes = {all, all + 0.2},
                                           .new_classes = {std::nan(""), std::nan("")}};
  return evaluation;
}

nlohmann::json line_of(int epoch, double on_unlabelled, double on_test) {
  // As a file has it: NaN is null there.
  return nlohmann::json::parse(nlohmann::json{{"epoch", epoch},
                                              {"unlabelled", to_json(evaluation_of(on_unlabelled))},
                                              {"test", to_json(evaluation_of(on_test))}}
                                   .dump());
}

/// The second line is of an epoch that nobody evaluated.
std::vector<nlohmann::json> some_lines() {
  return {line_of(0, 0.3, 0.6),
          {{"epoch", 1}},
          line_of(2, 0.7, 0.4),
          line_of(3, 0.7, 0.6),
          line_of(4, 0.5, 0.5)};
}

TEST(EpochComparison, TellsLastAndBestOnBothSets) {
  const auto compared = compare_epochs(some_lines());
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->evaluated, 4);
  EXPECT_EQ(compared->last.epoch, 4);
  EXPECT_EQ(compared->best_on_unlabelled->epoch, 2) << "the earliest of equal ones";
  EXPECT_EQ(compared->best_on_unlabelled->on_test->accuracy.all, 0.4) << "of the same epoch";
  EXPECT_EQ(compared->best_on_test->epoch, 0);
  EXPECT_EQ(compared->best_on_test->on_unlabelled->accuracy.all, 0.3);
}

TEST(EpochComparison, WithoutATruthIsAbsentAndNotZero) {
  std::vector<nlohmann::json> lines = some_lines();
  for (nlohmann::json& line : lines) {
    if (line.contains("unlabelled")) line["unlabelled"]["all"] = nullptr;
    line["test"] = "none";
  }
  EXPECT_FALSE(compare_epochs(lines));
  EXPECT_FALSE(compare_epochs({}));
  for (nlohmann::json& line : lines) line["test"] = to_json(evaluation_of(0.2));
  const auto compared = compare_epochs(lines);
  ASSERT_TRUE(compared) << "test images have a truth";
  EXPECT_FALSE(compared->best_on_unlabelled);
  EXPECT_FALSE(compared->last.on_unlabelled);
  nlohmann::json json;
  add_to_json(*compared, json);
  EXPECT_FALSE(json.contains("best_on_unlabelled"));
  EXPECT_FALSE(json.at("last").contains("unlabelled"));
  EXPECT_EQ(json.at("best_on_test").at("test").at("all"), 20);
}

TEST(EpochComparison, ComesBackFromAResultToTheLastBit) {
  RunResult result{.k = 2, .k_old = 1};
  result.on_unlabelled = evaluation_of(0.7);
  result.by_epoch = compare_epochs(some_lines());
  const std::string text = to_json(result).dump();
  const nlohmann::json read = nlohmann::json::parse(text);
  EXPECT_EQ(to_json(run_result_from_json(read)).dump(), text);
  EXPECT_EQ(read.at("evaluated_epochs"), 4);
  EXPECT_EQ(read.at("best_on_unlabelled").at("epoch"), 2);
  EXPECT_DOUBLE_EQ(read.at("best_on_unlabelled").at("unlabelled").at("old"), 80);
  EXPECT_NEAR(read.at("intervals").at("all").at(0), 65, 1e-9);
  EXPECT_FALSE(read.at("intervals").contains("new")) << "no image, no interval";
}

TEST(EpochComparison, ResultsOfOlderVersionsHaveNone) {
  nlohmann::json json = to_json(RunResult{.k = 2, .k_old = 1});
  const RunResult read = run_result_from_json(json);
  EXPECT_FALSE(read.by_epoch);
  EXPECT_FALSE(read.on_unlabelled.intervals);
}

TEST(EpochComparison, SaysThatTheTruthChose) {
  EXPECT_THAT(in_words(*compare_epochs(some_lines())),
              HasSubstr("(an oracle) epoch 3 was the best of 4 that were evaluated: All 70.0"));
  const std::vector<nlohmann::json> one = {line_of(0, 0.3, 0.6)};
  EXPECT_EQ(in_words(*compare_epochs(one)), "") << "it was the last";
}

TEST(Evaluation, IsToldWithItsIntervals) {
  EXPECT_EQ(in_words_with_intervals(evaluation_of(0.5)),
            "All 50.0 [45.0, 55.0], Old 60.0 [50.0, 70.0], New 40.0");
}

}  // namespace
}  // namespace protogcd
