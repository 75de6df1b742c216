// `protogcd bench images`: that it runs and says what it measured. How fast is no matter of tests.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using namespace protogcd::testing;

TEST(BenchImages, PrintsMedianAndSpreadAsJson) {
  const auto result = run_protogcd({"bench", "images", "--runs", "5", "--passes", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  for (const char* key : {"images_per_cpu_second", "images_per_second_all_threads"}) {
    const auto& rates = json.at(key);
    EXPECT_GT(rates.at("lowest").get<double>(), 0) << key;
    EXPECT_LE(rates.at("lowest"), rates.at("median")) << key;
    EXPECT_LE(rates.at("median"), rates.at("highest")) << key;
  }
  EXPECT_FALSE(json.contains("pillow"));
}

TEST(BenchImages, APythonWithoutPillowIsAUsageError) {
  const auto result = run_protogcd({"bench", "images", "--passes", "1", "--python", "/bin/false"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, ::testing::HasSubstr("--python"));
  EXPECT_THAT(result.errors, ::testing::HasSubstr("pip install pillow"));
}

}  // namespace
}  // namespace protogcd
