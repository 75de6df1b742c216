// `protogcd bench images`: that it runs and says what it measured. How fast is no matter of tests.
#include <gmock/gmock.h>

#include "protogcd/core/json.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;

TEST(BenchImages, PrintsMedianAndSpreadAsJson) {
  const auto result = run_protogcd({"bench", "images", "--runs", "5", "--passes", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  for (const char* key :
       {"images_per_cpu_second", "images_per_second_all_threads", "strong_views_per_cpu_second"}) {
    const auto& rates = json.at(key);
    EXPECT_GT(rates.at("lowest").get<double>(), 0) << key;
    EXPECT_LE(rates.at("lowest"), rates.at("median")) << key;
    EXPECT_LE(rates.at("median"), rates.at("highest")) << key;
  }
  EXPECT_FALSE(json.contains("pillow"));
  EXPECT_FALSE(json.contains("fast_decode_images_per_cpu_second"));
}

TEST(BenchImages, FastDecodingIsMeasuredBesideTheExactOne) {
  const std::vector<std::string> command = {"bench", "images",        "--runs",  "5",   "--passes",
                                            "1",     "--fast-decode", "--width", "1200"};
  const auto text = run_protogcd(command);
  ASSERT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_THAT(text.output, ::testing::HasSubstr("JPEG 1200x900"));
  EXPECT_THAT(text.output, ::testing::HasSubstr("--fast-decode, per core"));
  auto with_json = command;
  with_json.emplace_back("--json");
  const auto json = nlohmann::json::parse(run_protogcd(with_json).output);
  EXPECT_GT(json.at("fast_decode_images_per_cpu_second").at("lowest").get<double>(), 0);
}

TEST(BenchImages, APythonWithoutPillowIsAUsageError) {
  const auto result = run_protogcd({"bench", "images", "--passes", "1", "--python", "/bin/false"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, ::testing::HasSubstr("--python"));
  EXPECT_THAT(result.errors, ::testing::HasSubstr("pip install pillow"));
}

}  // namespace
}  // namespace protogcd
