// The files in configs/ but for sweeps: each can be read, names a known dataset, and says nothing
// superfluous.
#include <gmock/gmock.h>

#include <set>

#include "protogcd/core/options.h"
#include "protogcd/data/benchmark.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::StartsWith;

/// The keys that the files may use, with their defaults.
struct TrainingValues {
  std::string dataset, hard_labels = "ramp";
  double lambda_entropy = 2, lambda_sep = 0.1, tau_sharp = 0.05;
  double weight_dapl = 1, weight_contrastive = 1, weight_supcon = 1;
  std::int64_t ramp_epochs = 100;

  void declare(OptionTable& table) {
    table.add("dataset", &dataset, "").required();
    table.add("hard_labels", &hard_labels, "").one_of({"ramp", "all", "none", "half"});
    table.add("lambda_entropy", &lambda_entropy, "").at_least(0);
    table.add("lambda_sep", &lambda_sep, "").at_least(0);
    table.add("tau_sharp", &tau_sharp, "").above(0);
    table.add("weight_dapl", &weight_dapl, "").at_least(0);
    table.add("weight_contrastive", &weight_contrastive, "").at_least(0);
    table.add("weight_supcon", &weight_supcon, "").at_least(0);
    table.add("ramp_epochs", &ramp_epochs, "").at_least(0).at_most(200);
  }
};

TEST(Configs, EveryFileHoldsKnownKeysOfAKnownDataset) {
  const fs::path root = fs::path(testing::source_folder()) / "configs";
  std::set<std::string> datasets;
  int ablations = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const auto folder = entry.path().parent_path().filename();
    const bool is_sweep = folder == "paper" || folder == "demo";
    const bool is_ood = entry.path().filename().string().starts_with("ood-");
    if (entry.path().extension() != ".toml" || is_sweep || is_ood) continue;
    SCOPED_TRACE(entry.path());
    TrainingValues values;
    OptionTable table;
    values.declare(table);
    table.apply_toml_file(entry.path());
    table.check_required();
    EXPECT_EQ(find_benchmark(values.dataset).name, values.dataset);
    const std::string name = entry.path().stem().string();
    if (entry.path().parent_path() == root) {
      EXPECT_EQ(name, values.dataset);
      datasets.insert(values.dataset);
    } else {
      EXPECT_THAT(name, StartsWith(values.dataset + "-"));
      ++ablations;
    }
    // The published weights: 1 for two of the datasets, 2 for the others, unless the row is on it.
    const bool varied =
        values.lambda_entropy == 0 || entry.path().parent_path().filename() == "entropy-weight";
    const bool lower = values.dataset == "cifar10" || values.dataset == "aircraft";
    if (!varied) {
      EXPECT_EQ(values.lambda_entropy, lower ? 1 : 2);
    }
  }
  EXPECT_EQ(datasets.size(), benchmarks().size());
  EXPECT_EQ(ablations, 60);
}

}  // namespace
}  // namespace protogcd
