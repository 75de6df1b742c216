// `protogcd bench train`: what it reports is consistent, and nothing is replaced unasked.
#include <gmock/gmock.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/json.h"
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
  // Four digits are shown: what follows from them agrees to three. Which step is faster than which
  // is no test's business: on a busy machine any can be.
  const auto bank_milliseconds = results.at(0).at("milliseconds").get<double>(),
             full = results.at(5).at("times_bank").get<double>();
  EXPECT_NEAR(full, results.at(5).at("milliseconds").get<double>() / bank_milliseconds,
              2e-3 * full);
  // ViT-S/16, 8 rows: three products of every dense layer, four of the tokens for each head.
  const double block = 4.0 * 384 * 384 + 2.0 * 384 * 1536,
               head = 2048.0 * (384 + 2048 + 256) + 384 * 10, tokens = 4.0 * 6 * 197 * 384;
  for (const auto& [step, dense] : {std::pair{0u, block + head}, {2u, block}}) {
    const auto row = results.at(step);
    const double rate = row.at("gflops"), operations = 2 * 8 * (3 * dense + tokens);
    EXPECT_NEAR(rate, operations / row.at("milliseconds").get<double>() / 1e6, 2e-3 * rate);
    const double share = row.at("share");
    EXPECT_NEAR(share, rate / row.at("roof_gflops").get<double>(), 1e-2 * share);
  }
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
