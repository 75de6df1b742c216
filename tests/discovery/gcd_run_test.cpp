// A run of GCD, whose classes are clusters, and what is done with its model.
#include <gmock/gmock.h>

#include <map>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/core/csv.h"
#include "protogcd/nn/state_dict.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd::testing {
namespace {

namespace fs = std::filesystem;

/// The second column of a table, by folder and name of the file in the first.
std::map<std::string, std::string> named(const fs::path& file) {
  std::map<std::string, std::string> values;
  const CsvTable table = CsvTable::read(file);
  for (const CsvRow& row : table.rows()) {
    const fs::path path = row.fields[0];
    values[path.parent_path().filename() / path.filename()] = row.fields[1];
  }
  return values;
}

class GcdRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work = new TinyRun(16);
    // To it some images are nearest to one centroid and have a higher cosine to another.
    const fs::path backbone =
        fs::path(source_folder()) / "tests/fixtures/run-0.1.0/tiny.safetensors";
    trained = json_of(run_protogcd(
        work->train("run", {"--method", "gcd", "--backbone", backbone, "--heads", "1"})));
  }
  static void TearDownTestSuite() { delete work; }

  static ProgramResult call(const std::string& verb, const std::vector<std::string>& more) {
    std::vector<std::string> words = {verb,      "--model", work->folder / "run", "--threads", "1",
                                      "--dtype", "float32", "--device",           "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words);
  }

  static TinyRun* work;
  static nlohmann::json trained;
};

TinyRun* GcdRun::work = nullptr;
nlohmann::json GcdRun::trained;

TEST_F(GcdRun, ItsAccuracyIsThatOfTheClustersInItsPredictions) {
  const auto truths = named(work->folder / "demo/truth.csv");
  std::map<std::string, std::int32_t> numbers;  // the old classes first
  for (const auto& entry : trained.at("classes"))
    if (!entry.at("is_new")) numbers.emplace(entry.at("name"), std::ssize(numbers));
  const auto old_classes = static_cast<std::int32_t>(numbers.size());
  std::map<std::string, std::int32_t> clusters;
  std::vector<std::int32_t> found, wanted;
  for (const auto& [image, cluster] : named(work->folder / "run/predictions.csv")) {
    found.push_back(clusters.emplace(cluster, std::ssize(clusters)).first->second);
    wanted.push_back(numbers.emplace(truths.at(image), std::ssize(numbers)).first->second);
  }
  const Confusion confusion(found, wanted);
  const Accuracy own = clustering_accuracy(confusion, match_clusters(confusion), old_classes);
  EXPECT_EQ(found.size(), 176u);
  EXPECT_NEAR(trained.at("all"), 100 * own.all, 1e-12);
}

TEST_F(GcdRun, PredictGivesTheImagesOfItsTrainingTheirClusters) {
  const auto predicted = call("predict", {"--images", work->folder / "demo/unlabelled", "--out",
                                          work->folder / "again.csv"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.errors;
  EXPECT_EQ(named(work->folder / "again.csv"), named(work->folder / "run/predictions.csv"));
}

TEST_F(GcdRun, ItsModelTellsOutliersAndShowsTypicalImages) {
  const auto scores = json_of(
      call("ood", {"--id", work->folder / "demo/unlabelled", "--outliers",
                   work->folder / "demo/outliers", "--out", work->folder / "ood", "--json"}));
  EXPECT_EQ(scores.at("known_images"), 176);
  EXPECT_EQ(json_of(call("retrieve", {"--top", "1", "--out", work->folder / "shown", "--json"}))
                .at("out"),
            (work->folder / "shown").string());
  EXPECT_GT(CsvTable::read(work->folder / "shown/examples.csv").rows().size(), 16u);
}

StateDict model_of(const TinyRun& work, const std::string& run) {
  return load_state_dict(work.folder / run / "model/model.safetensors");
}

TEST_F(GcdRun, PlainSeedingDrawsOtherFirstCentroids) {
  const std::vector<std::string> once = {"--method", "gcd", "--kmeans-starts", "1"};
  json_of(run_protogcd(work->train("best", once)));
  std::vector<std::string> plain = once;
  plain.emplace_back("--plain-seeding");
  json_of(run_protogcd(work->train("plain", plain)));
  const StateDict best = model_of(*work, "best"), other = model_of(*work, "plain");
  for (const auto& [name, tensor] : best.tensors) {
    const bool is_of_clusters = name.starts_with("prototype");
    EXPECT_EQ(at::equal(tensor, other.tensors.at(name)), !is_of_clusters) << name;
  }
}

TEST_F(GcdRun, WeightDecayReachesBiasesAndNormsAsItDoesNotInSimGcd) {
  const StateDict before = load_state_dict(work->folder / "tiny.safetensors");
  for (const std::string method : {"gcd", "simgcd"}) {
    json_of(run_protogcd(
        work->train(method, {"--method", method, "--lr", "0.01", "--weight-decay", "1"})));
    const StateDict after = model_of(*work, method);
    int looked_at = 0;
    for (const auto& [name, tensor] : after.tensors) {
      if (!name.starts_with("0.") || tensor.dim() != 1) continue;
      const double share =
          (tensor.norm() / before.tensors.at(name.substr(2)).norm()).item<double>();
      EXPECT_EQ(share < 0.8, method == "gcd") << method << " " << name << " " << share;
      ++looked_at;
    }
    EXPECT_EQ(looked_at, 8) << "two norms with weight and bias, four layers with a bias";
  }
}

}  // namespace
}  // namespace protogcd::testing
