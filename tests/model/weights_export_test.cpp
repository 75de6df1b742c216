// `protogcd weights export` of a trained run, through the command line.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protogcd/core/npy.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/model/stored_model.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd::testing {
namespace {

using ::testing::HasSubstr;

class WeightsExport : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work = new TinyRun;
    json_of(run_protogcd(work->train("run", {"--grad-from-block", "1"})));
  }
  static void TearDownTestSuite() { delete work; }

  static std::string file(const std::string& name) { return work->folder / name; }
  static ProgramResult export_to(const std::string& name) {
    return run_protogcd(
        {"weights", "export", "--model", file("run"), "--out", file(name), "--json"});
  }
  static at::Tensor embed(const std::string& flag, const std::string& network,
                          const std::string& out) {
    json_of(run_protogcd({"embed", "--images", file("demo/unlabelled"), flag, file(network),
                          "--out", file(out), "--device", "cpu", "--dtype", "float32", "--json"}));
    const auto array = std::make_shared<NpyFile>(file(out));
    return tensor_of(array->array(), array).clone();
  }

  static TinyRun* work;
};

TinyRun* WeightsExport::work = nullptr;

TEST_F(WeightsExport, AnExportedBackboneGivesTheModelsFeatures) {
  ASSERT_EQ(json_of(export_to("trained.safetensors")).at("width"), 64);
  const at::Tensor ours = embed("--model", "run", "model.npy"),
                   theirs = embed("--backbone", "trained.safetensors", "file.npy");
  EXPECT_EQ(ours.sizes(), theirs.sizes());
  EXPECT_LT(((ours - theirs).abs().max() / ours.abs().max()).item<double>(), 1e-5);
}

TEST_F(WeightsExport, TheBackboneHasTheReleasesNamesInFloat32) {
  json_of(export_to("names.safetensors"));
  const SafetensorsFile written(std::filesystem::path{file("names.safetensors")});
  const StoredModel model = open_stored_model(file("run"), {});
  const auto expected = vit_tensors(model.backbone.config);
  EXPECT_EQ(written.entries().size(), expected.size());
  for (const auto& [name, shape] : expected) {
    EXPECT_EQ(written.at(name).shape, shape) << name;
    EXPECT_EQ(written.at(name).type, ElementType::kFloat32) << name;
  }
}

TEST_F(WeightsExport, AnOnnxFileIsWrittenByItsEnding) {
  EXPECT_EQ(json_of(export_to("trained.onnx")).at("k"), 16);
  const auto other = export_to("trained.pt");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.errors, HasSubstr("neither .safetensors nor .onnx"));
  EXPECT_THAT(export_to("trained.onnx").errors, HasSubstr("--overwrite"));
}

}  // namespace
}  // namespace protogcd::testing
