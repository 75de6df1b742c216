// The files of datasets in configs/: one for each benchmark, which says nothing superfluous.
#include <gtest/gtest.h>

#include <set>

#include "protogcd/core/options.h"
#include "protogcd/data/benchmark.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

/// The keys that the files may use, with their defaults.
struct TrainingValues {
  std::string dataset;
  double lambda_entropy = 2;

  void declare(OptionTable& table) {
    table.add("dataset", &dataset, "").required();
    table.add("lambda_entropy", &lambda_entropy, "").at_least(0);
  }
};

TEST(Configs, EveryBenchmarkHasAFileOfItsNameWithThePublishedWeight) {
  const fs::path root = fs::path(testing::source_folder()) / "configs";
  std::set<std::string> datasets;
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".toml" || name.starts_with("ood-")) continue;
    SCOPED_TRACE(entry.path());
    TrainingValues values;
    OptionTable table;
    values.declare(table);
    table.apply_toml_file(entry.path());
    table.check_required();
    EXPECT_EQ(find_benchmark(values.dataset).name, name);
    datasets.insert(values.dataset);
    const bool lower = values.dataset == "cifar10" || values.dataset == "aircraft";
    EXPECT_EQ(values.lambda_entropy, lower ? 1 : 2);
  }
  EXPECT_EQ(datasets.size(), benchmarks().size());
}

}  // namespace
}  // namespace protogcd
