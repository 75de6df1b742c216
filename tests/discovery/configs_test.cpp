// The files in configs/ but for sweeps are what `train` and `ood` take.
#include <gmock/gmock.h>

#include "protogcd/data/benchmark.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;

// Sweeps, which hold the paper's ablations, are planned in tests/sweep/paper_configs_test.cpp.
TEST(Configs, TrainTakesTheFileOfEveryBenchmark) {
  for (const BenchmarkInfo& benchmark : benchmarks()) {
    const std::string file =
        testing::source_folder() + "/configs/" + std::string(benchmark.name) + ".toml";
    // What it then complains about is what the file leaves open.
    const auto result = testing::run_protogcd({"train", "--config", file});
    EXPECT_EQ(result.exit_code, 2) << file;
    EXPECT_THAT(result.errors, HasSubstr("--out")) << file;
  }
}

// Each says its method, whose options it may set.
TEST(Configs, TrainTakesThoseOfOtherMethods) {
  const auto folder = std::filesystem::path(testing::source_folder()) / "configs/methods";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no other method has a file";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto result = testing::run_protogcd({"train", "--config", entry.path().string()});
    EXPECT_EQ(result.exit_code, 2) << entry.path();
    EXPECT_THAT(result.errors, HasSubstr("--out")) << entry.path();
  }
}

TEST(Configs, OodTakesThePapersSets) {
  const auto config = [](const std::string& name) {
    return testing::source_folder() + "/configs/ood-" + name + ".toml";
  };
  // What it then complains about is the first folder, which is not here.
  const auto cifar =
      testing::run_protogcd({"ood", "--config", config("cifar100"), "--model", "nowhere"});
  EXPECT_EQ(cifar.exit_code, 4) << cifar.errors;
  EXPECT_THAT(cifar.errors, HasSubstr("data/cifar100"));
  const auto imagenet =
      testing::run_protogcd({"ood", "--config", config("imagenet100"), "--model", "nowhere"});
  EXPECT_NE(imagenet.exit_code, 3) << imagenet.errors;
  EXPECT_THAT(imagenet.errors, HasSubstr("data/imagenet100"));
}

}  // namespace
}  // namespace protogcd
