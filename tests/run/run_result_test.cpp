// result.json: what a run found, written and read.
#include "protogcd/run/run_result.h"
#include "protogcd/core/json.h"

#include <gmock/gmock.h>

#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/run/metrics_file.h"
#include "protogcd/run/run_notes.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

const double kNaN = std::nan("");

RunResult some_result() {
  RunResult result{.k = 3, .k_old = 1, .labelled = 4, .unlabelled = 9, .test = 2, .skipped = 1};
  result.epochs = 5;
  result.seconds = 1.25;
  result.on_unlabelled = {.samples = 9,
                          .accuracy = {2.0 / 3, 0.57, kNaN},
                          .balanced = {0.1, 0.2, 0.3},
                          .separate = {1.0 / 7, 0.5, 0.25},
                          .nmi = 0.3,
                          .ari = 0.29,
                          .marginal_old = 0.1,
                          .predicted_old = 0.7,
                          .confidence_old = 0.9,
                          .confidence_new = kNaN};
  result.on_test = result.on_unlabelled;
  result.on_test->samples = 2;
  result.estimate = ClassNumber{.k = 3, .k_old = 1, .low = 2, .high = 4};
  result.estimate->curve = {{2, 0.5, 0.25, kNaN, -INFINITY, -2}};
  result.classes = {{"owl", false, 4, 0.75, "owl", 1}, {"new-01", true, 0, 0, "", 0}};
  result.outliers = 2;
  result.out = "runs/a";
  return result;
}

TEST(RunResult, ComesBackToTheLastBit) {
  const TemporaryFolder folder;
  write_result(folder / "result.json", some_result());
  const std::string text = read_text_file(folder / "result.json");
  write_result(folder / "result.json", read_result(folder / "result.json"));
  EXPECT_EQ(read_text_file(folder / "result.json"), text);
  RunResult bare{.k = 2, .k_old = 2};
  EXPECT_EQ(to_json(run_result_from_json(to_json(bare))), to_json(bare));
  EXPECT_EQ(to_json(bare).at("test"), "none");
  EXPECT_FALSE(to_json(bare).contains("estimate"));
}

TEST(RunResult, EveryAccuracyComesBack) {
  Evaluation evaluation = some_result().on_unlabelled;
  for (int right = 0; right <= 999; ++right) {
    evaluation.accuracy.all = right / 999.0;
    const double percent = to_json(evaluation).at("all");
    EXPECT_EQ(to_json(evaluation_from_json(to_json(evaluation))).at("all"), percent);
  }
}

TEST(RunResult, RepeatedRunsHaveMeanAndDeviation) {
  std::vector<RunResult> runs(2, some_result());
  runs[0].on_unlabelled.accuracy = {0.5, 0.25, kNaN};
  runs[1].on_unlabelled.accuracy = {0.75, 0.25, kNaN};
  const auto json = to_json(runs);
  EXPECT_EQ(json.at("all"), 62.5);
  EXPECT_EQ(json.at("mean").at("old"), 25.0);
  EXPECT_DOUBLE_EQ(json.at("std").at("all"), std::sqrt(2 * 12.5 * 12.5));
  EXPECT_TRUE(std::isnan(json.at("new").get<double>()));
  EXPECT_EQ(json.at("runs").size(), 2u);
  runs.resize(1);
  EXPECT_EQ(to_json(runs).at("std").at("all"), 0);
}

TEST(RunResult, WhatIsNoneNamesItsFile) {
  const TemporaryFolder folder;
  nlohmann::json silly = to_json(some_result());
  silly["estimate"]["k"] = 0;
  for (const std::string& text : {std::string("{"), std::string("[]"), std::string("null"),
                                  std::string(R"({"k": 3})"), silly.dump()}) {
    write_file_atomically(folder / "result.json", text);
    EXPECT_THAT(message_of<ModelFileError>([&] { read_result(folder / "result.json"); }),
                HasSubstr("result.json: "))
        << text;
  }
  EXPECT_THROW(read_result(folder / "none.json"), FileError);
}

TEST(RunResult, OfALaterFormatIsRefusedByNameAndOneWithoutAnyIsTheFirst) {
  const TemporaryFolder folder;
  const auto file = folder / "result.json";
  write_result(file, some_result());
  nlohmann::json json = parse_json(read_text_file(file));
  EXPECT_EQ(json.at("format"), 1);
  for (const nlohmann::json& later : {nlohmann::json(2), nlohmann::json("2")}) {
    json["format"] = later;
    write_file_atomically(file, json.dump());
    EXPECT_THAT(message_of<ModelFileError>([&] { read_result(file); }),
                AllOf(HasSubstr("result.json: format " + later.dump()), HasSubstr("newer")));
  }
  json.erase("format");
  write_file_atomically(file, json.dump());
  EXPECT_EQ(read_result(file).k, 3);
}

TEST(RunNotes, OfALaterFormatAreRefusedByNameAndThoseWithoutAnyAreOfTheFirst) {
  const TemporaryFolder folder;
  const auto file = folder / "run.json";
  write_file_atomically(file, R"({"device": "cpu", "format": 2})");
  EXPECT_THAT(message_of<ModelFileError>([&] { read_run_notes(file); }),
              AllOf(HasSubstr("run.json: format 2"), HasSubstr("newer")));
  write_file_atomically(file, R"({"device": "cpu"})");
  EXPECT_EQ(read_run_notes(file).environment.at("device"), "cpu");
}

TEST(Metrics, LinesThatAreNoneAreLeftOut) {
  const TemporaryFolder folder;
  const auto file = folder / "metrics.jsonl";
  EXPECT_TRUE(read_metrics(file).empty());
  for (int epoch = 0; epoch < 4; ++epoch) add_metrics(file, {{"epoch", epoch}});
  keep_metrics_before(file, 3);
  write_file_atomically(file, read_text_file(file) + "[]\n{\"x\": 1}\n{\"epoch\": 3, \"tr");
  const auto metrics = read_metrics(file);
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics.back().at("epoch"), 2);
}

}  // namespace
}  // namespace protogcd
