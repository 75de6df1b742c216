// `protogcd bench train`: what it reports is consistent, and nothing is replaced unasked.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "protogcd/core/csv.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::run_protogcd;
using testing::TemporaryFolder;

TEST(BenchTrain, ReportsStepsTheirPartsAndTheShareOfTheRoof) {
  const TemporaryFolder folder;
  const std::vector<std::string> command = {
      "bench",    "train", "--runs",        "1",  "--steps", "1",       "--batch",  "4",
      "--images", "8",     "--k",           "10", "--dtype", "float32", "--device", "cpu",
      "--json",   "--csv", folder / "t.csv"};
  const auto result = run_protogcd(command);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto results = nlohmann::json::parse(result.output).at("results");
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(results.at(0).at("step"), "bank");
  EXPECT_EQ(results.at(0).at("times_bank"), 1);
  EXPECT_EQ(results.at(5).at("step"), "full");
  EXPECT_GT(results.at(5).at("times_bank").get<double>(), 1);
  const auto network = results.at(2);
  // ViT-S/16, 8 rows: three products of every dense layer, four of the tokens for each head.
  const double dense = 4.0 * 384 * 384 + 2.0 * 384 * 1536 + 2048.0 * (384 + 2048 + 256) + 384 * 10;
  const double operations = 2 * 8 * (3 * dense + 4.0 * 6 * 197 * 384);
  const double rate = network.at("gflops");
  EXPECT_NEAR(rate, operations / network.at("milliseconds").get<double>() / 1e6,
              0.06 + 1e-2 * rate);
  EXPECT_NEAR(network.at("share").get<double>(), rate / network.at("roof_gflops").get<double>(),
              0.01);
  EXPECT_EQ(CsvTable::read(folder / "t.csv").rows().size(), 6u);
  const auto again = run_protogcd(command);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, HasSubstr("--csv"));
}

TEST(BenchTrain, AnInterpreterThatDoesNotAnswerIsNamed) {
  const auto result = run_protogcd({"bench", "train", "--no-full", "--batch", "4", "--images", "8",
                                    "--runs", "1", "--device", "cpu", "--python", "/bin/true"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("/bin/true"));
}

}  // namespace
}  // namespace protogcd
