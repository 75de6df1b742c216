// `protogcd weights inspect|convert` on files that the Python packages wrote, and on bad ones.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/nn/vit.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::run_protogcd;
using testing::TemporaryFolder;

std::string fixture(const std::string& name) {
  return testing::source_folder() + "/tests/fixtures/" + name;
}

TEST(WeightsInspect, ListsTensorsAndTheGeometryTheyMakeUp) {
  const std::string file = fixture("hf_dinov2_registers.safetensors");
  const auto table = run_protogcd({"weights", "inspect", file, "--heads", "2"});
  ASSERT_EQ(table.exit_code, 0) << table.errors;
  EXPECT_THAT(
      table.output,
      AllOf(HasSubstr("embeddings.cls_token"), HasSubstr("[1, 1, 32]"), HasSubstr("float32"),
            HasSubstr("patch 4, width 32, depth 2, 2 heads"), HasSubstr("3 registers"),
            HasSubstr("names of Hugging Face DINOv2"), HasSubstr("not used: mask_token")));
  const auto result = run_protogcd({"weights", "inspect", file, "--heads", "2", "--json"});
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("format"), "safetensors");
  EXPECT_EQ(json.at("geometry").at("registers"), 3);
  EXPECT_EQ(json.at("geometry").at("layer_scale"), true);
  EXPECT_EQ(json.at("naming"), "Hugging Face DINOv2");
  EXPECT_TRUE(json.at("problem").is_null());
  std::uint64_t bytes = 0;
  for (const auto& row : json.at("tensors")) bytes += row.at("bytes").get<std::uint64_t>();
  EXPECT_EQ(json.at("bytes"), bytes);
  EXPECT_EQ(json.at("parameters"), bytes / 4);
}

TEST(WeightsInspect, NamesAreRecognisedWhereTheGeometryIsNot) {
  const auto result = run_protogcd({"weights", "inspect", fixture("hf_vit.safetensors"), "--json"});
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("naming"), "Hugging Face ViT");
  EXPECT_TRUE(json.at("geometry").is_null());
  EXPECT_THAT(json.at("problem").get<std::string>(), HasSubstr("32 channels cannot be divided"));
}

TEST(WeightsInspect, SaysWhyAFileIsNoBackbone) {
  const auto result = run_protogcd({"weights", "inspect", fixture("types.pth"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("format"), "PyTorch");
  EXPECT_EQ(json.at("tensors").size(), 13u);
  EXPECT_EQ(json.at("tensors")[0].at("dtype"), "float64");
  EXPECT_TRUE(json.at("geometry").is_null());
  EXPECT_TRUE(json.at("naming").is_null());
  EXPECT_THAT(json.at("problem").get<std::string>(), HasSubstr("not a Vision Transformer"));
}

TEST(WeightsConvert, KeepsEveryTensorOfAPytorchFile) {
  const TemporaryFolder folder;
  const std::string out = folder / "out.safetensors";
  const auto result = run_protogcd({"weights", "convert", fixture("types.pth"), out});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const WeightFile before = open_weight_file(fixture("types.pth"));
  const SafetensorsFile after(std::filesystem::path{out});
  ASSERT_EQ(after.entries().size(), before.entries.size());
  for (const auto& entry : before.entries) {
    const TensorEntry& same = after.at(entry.name);
    EXPECT_EQ(same.type, entry.type) << entry.name;
    EXPECT_EQ(same.shape, entry.shape) << entry.name;
    EXPECT_TRUE(std::ranges::equal(same.bytes, entry.bytes)) << entry.name;
  }
}

TEST(WeightsConvert, TheTypeChangesForFloatingTensorsAlone) {
  const TemporaryFolder folder;
  const std::string out = folder / "out.safetensors";
  const auto result =
      run_protogcd({"weights", "convert", fixture("types.pth"), out, "--dtype", "bfloat16"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const StateDict state = load_state_dict(out), before = load_state_dict(fixture("types.pth"));
  EXPECT_EQ(state.tensors.at("int64").scalar_type(), at::kLong);
  EXPECT_EQ(state.tensors.at("bool").scalar_type(), at::kBool);
  for (const char* name : {"float64", "float32", "float16", "transposed"}) {
    EXPECT_EQ(state.tensors.at(name).scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::equal(state.tensors.at(name), before.tensors.at(name).to(at::kBFloat16)));
  }
}

TEST(WeightsConvert, NumbersThatDoNotFitTheTypeAreRefused) {
  const TemporaryFolder folder;
  const at::Tensor large = at::full({3}, 1e5F), fine = at::full({2}, 1.0F);
  write_safetensors(folder / "in.safetensors",
                    std::vector{entry_of("fine", fine), entry_of("large", large)});
  const auto result = run_protogcd({"weights", "convert", folder / "in.safetensors",
                                    folder / "out.safetensors", "--dtype", "float16"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("entry 'large': 3 of its numbers are too large for float16"),
                    HasSubstr("bfloat16")));
  EXPECT_FALSE(std::filesystem::exists(folder / "out.safetensors"));
}

// Under the releases' names nothing but the file's note tells whose settings apply.
TEST(WeightsConvert, ReleaseNamesKeepTheModelsResults) {
  for (const std::string name : {"hf_vit", "hf_dinov2_swiglu"}) {
    const TemporaryFolder folder;
    const std::string out = folder / "out.safetensors";
    const auto result = run_protogcd({"weights", "convert", fixture(name + ".safetensors"), out,
                                      "--names", "release", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const StateDict state = load_state_dict(out);
    EXPECT_TRUE(state.tensors.contains("blocks.1.attn.qkv.weight"));
    const ReleaseState release = with_release_names(state);
    const Vit vit(infer_vit_config(release, 2), release.state);
    const StateDict expected = load_state_dict(fixture(name + "_expected.safetensors"));
    for (const std::string which : {"", "_wide"}) {
      const at::Tensor cls = vit.forward(expected.tensors.at("images" + which)),
                       wanted = expected.tensors.at("cls" + which);
      EXPECT_LT(((cls - wanted).abs().max() / wanted.abs().max()).item<double>(), 2e-5) << which;
    }
  }
}

TEST(WeightsConvert, DoesNotOverwriteUnlessTold) {
  const TemporaryFolder folder;
  const std::string out = folder / "out.safetensors";
  write_file_atomically(out, "precious");
  const auto refused = run_protogcd({"weights", "convert", fixture("types.pth"), out});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("exists already"), HasSubstr("--overwrite")));
  EXPECT_EQ(read_text_file(out), "precious");
  EXPECT_EQ(
      run_protogcd({"weights", "convert", fixture("types.pth"), out, "--overwrite"}).exit_code, 0);
  EXPECT_NE(read_text_file(out), "precious");
}

TEST(Weights, AMissingFileIsNamed) {
  const auto result = run_protogcd({"weights", "inspect", "/no/such.pth"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.errors, HasSubstr("/no/such.pth"));
}

TEST(Weights, ATruncatedFileIsRefusedAndNothingIsWritten) {
  const TemporaryFolder folder;
  for (const std::string name : {"types.pth", "hf_vit.safetensors"}) {
    const std::string whole = read_text_file(fixture(name));
    write_file_atomically(folder / name, whole.substr(0, whole.size() / 2));
    const auto result =
        run_protogcd({"weights", "convert", folder / name, folder / "out.safetensors"});
    EXPECT_EQ(result.exit_code, 5) << name;
    EXPECT_THAT(result.errors, HasSubstr(name));
    EXPECT_FALSE(std::filesystem::exists(folder / "out.safetensors"));
  }
}

TEST(Weights, AFileThatWouldRunACommandIsRefusedByItsNameAndRunsNothing) {
  const TemporaryFolder folder;
  const std::string command = "cd '" + folder.path().string() + "' && exec '" +
                              testing::protogcd_path() + "' weights inspect '" +
                              fixture("evil.pth") + "'";
  const auto result = testing::run_command({"sh", "-c", command});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("refused"), HasSubstr("posix.system")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Weights, AFileOfAnOldTorchSaysToSaveItAgain) {
  const auto result = run_protogcd({"weights", "inspect", fixture("legacy.pth")});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.errors, HasSubstr("re-save it with a newer torch"));
}

}  // namespace
}  // namespace protogcd
