// `protogcd weights import` of checkpoints that plain PyTorch wrote, with the published names.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protogcd/core/files.h"
#include "protogcd/model/stored_model.h"
#include "tests/data/layouts.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/python.h"

namespace protogcd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CheckpointImport : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    const std::string script =
        read_text_file(source_folder() + "/tests/model/published_checkpoint.py");
    has_torch = !ask_python("torch", script, {folder->path()}).is_null();
  }
  static void TearDownTestSuite() { delete folder; }
  void SetUp() override {
    if (!has_torch) GTEST_SKIP() << "no Python with the package torch";
  }

  static std::string file(const std::string& name) { return *folder / name; }
  static ProgramResult import(const std::string& checkpoint, const std::string& out,
                              const std::vector<std::string>& more = {"--old-classes", "6"}) {
    std::vector<std::string> words = {
        "weights", "import",   "--checkpoint", file(checkpoint), "--out", file(out), "--heads", "2",
        "--json",  "--device", "cpu",          "--image-size",   "32"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words);
  }
  /// How far the model's features and cosines are from PyTorch's, at most.
  static double difference(const std::string& name) {
    const StateDict expected = load_state_dict(file("expected.pt"));
    const TrainedModel model =
        load_model(file(name), {}, Context{.device = "cpu", .dtype = "float32"});
    const at::Tensor features = model.features(model.trunk().run(expected.tensors.at("images")));
    return std::max(
        (features - expected.tensors.at("features")).abs().max().item<double>(),
        (model.cosines_of(features) - expected.tensors.at("logits")).abs().max().item<double>());
  }

  static TemporaryFolder* folder;
  static bool has_torch;
};

TemporaryFolder* CheckpointImport::folder = nullptr;
bool CheckpointImport::has_torch = false;

TEST_F(CheckpointImport, AnImportedModelGivesPyTorchsLogits) {
  for (const std::string name : {"plain", "nested"}) {
    const auto json = json_of(import(name + ".pt", name));
    EXPECT_EQ(json.at("k"), 10);
    EXPECT_EQ(json.at("k_old"), 6);
    EXPECT_LT(difference(name), 1e-5) << name;
  }
  // The backbone lies in the model's folder, and both may go elsewhere.
  std::filesystem::rename(file("plain"), file("moved"));
  EXPECT_LT(difference("moved"), 1e-5);
  // The projection is kept for whoever trains on.
  const StateDict kept = load_state_dict(file("moved/model.safetensors"));
  EXPECT_TRUE(kept.tensors.contains("1.mlp.4.bias"));
}

TEST_F(CheckpointImport, EvaluateAndPredictTakeItUnderTheDatasetsNames) {
  make_cifar10_binary(file("cifar"));
  json_of(import("plain.pt", "model", {"--dataset", "cifar10", "--root", file("cifar")}));
  const auto judged =
      json_of(run_protogcd({"evaluate", "--model", file("model"), "--dataset", "cifar10", "--root",
                            file("cifar"), "--device", "cpu", "--json"}));
  // Half of the images of the five old classes are unlabelled, and all of the five new ones.
  EXPECT_TRUE(judged.at("old").is_number());
  EXPECT_TRUE(judged.at("new").is_number());
  EXPECT_EQ(open_stored_model(file("model"), {}).info.classes.front(), "class-00");
  const auto predicted =
      json_of(run_protogcd({"predict", "--model", file("model"), "--images",
                            "cifar10:" + file("cifar"), "--device", "cpu", "--json"}));
  EXPECT_EQ(predicted.at("predictions").size(), 10u);
  EXPECT_EQ(import("plain.pt", "model").exit_code, 2) << "overwrote a model";
}

TEST_F(CheckpointImport, WhatIsMissingOrWronglyShapedIsNamedAndNothingIsWritten) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"no-norm", "missing: blocks.1.norm1.weight (there is blocks.1."},
      {"no-mlp", "missing: mlp.2.bias [48]"},
      {"wrong-mlp", "wrong shape: mlp.2.weight is [48, 47], expected [48, 48]"},
      {"wrong-width", "wrong shape: prototype_layer.weight_v is [10, 33], expected [10, 32]"},
      {"long", "prototype_layer.weight_g is not 1"},
      {"no-prototypes", "no tensor '1.prototype_layer.weight_v'"}};
  for (const auto& [name, message] : faults) {
    const auto result = import(name + ".pt", "out");
    EXPECT_EQ(result.exit_code, 5) << name;
    EXPECT_THAT(result.errors, AllOf(HasSubstr(name + ".pt"), HasSubstr(message)));
    EXPECT_TRUE(std::filesystem::is_empty(file("out")));
  }
  EXPECT_THAT(import("plain.pt", "out", {"--old-classes", "11"}).errors,
              HasSubstr("11 old classes"));
  EXPECT_THAT(import("plain.pt", "out", {}).errors, HasSubstr("--old-classes N"));
}

}  // namespace
}  // namespace protogcd::testing
