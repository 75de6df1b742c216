// Files of the Python packages: their names are understood, and the model gives the package's own
// numbers.
#include "protogcd/nn/vit_names.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/nn/random_state.h"
#include "protogcd/nn/vit.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(testing::source_folder()) / "tests/fixtures" / name;
}

void expect_package_results(const std::string& name, NamingStyle style) {
  SCOPED_TRACE(name);
  const ReleaseState release = with_release_names(load_state_dict(fixture(name + ".safetensors")));
  EXPECT_EQ(release.style, style);
  const Vit vit(infer_vit_config(release, 2), release.state);
  const StateDict expected = load_state_dict(fixture(name + "_expected.safetensors"));
  for (const std::string which : {"", "_wide"}) {
    const at::Tensor cls = vit.forward(expected.tensors.at("images" + which)),
                     wanted = expected.tensors.at("cls" + which);
    EXPECT_LT(((cls - wanted).abs().max() / wanted.abs().max()).item<double>(), 2e-5) << which;
  }
}

TEST(VitNames, HuggingFaceModelsGiveTheirOwnResults) {
  expect_package_results("hf_vit", NamingStyle::kHuggingFaceVit);
  expect_package_results("hf_dinov2", NamingStyle::kHuggingFaceDinov2);
  expect_package_results("hf_dinov2_registers", NamingStyle::kHuggingFaceDinov2);
  expect_package_results("hf_dinov2_swiglu", NamingStyle::kHuggingFaceDinov2);
}

const VitConfig kTiny{.patch = 4,
                      .width = 16,
                      .depth = 2,
                      .heads = 2,
                      .hidden = 24,
                      .grid = 2,
                      .registers = 2,
                      .gated_mlp = true,
                      .position_on_class = false};

StateDict with_prefix(const StateDict& state, const std::string& prefix) {
  StateDict result{.origin = state.origin, .tensors = {}};
  for (const auto& [name, tensor] : state.tensors) result.tensors[prefix + name] = tensor;
  return result;
}

TEST(VitNames, WrappersAreStrippedWhateverTheyAreCalled) {
  const StateDict state = random_vit_state(kTiny);
  for (const std::string prefix :
       {"", "module.", "backbone.", "model.", "state_dict.module.", "0."}) {
    const auto release = with_release_names(with_prefix(state, prefix));
    EXPECT_EQ(release.state.tensors.size(), state.tensors.size()) << prefix;
    EXPECT_NE(release.state.find("blocks.1.attn.qkv.weight"), nullptr) << prefix;
  }
}

TEST(VitNames, TheTeacherIsTakenWhereThereIsAStudentToo) {
  const StateDict state = random_vit_state(kTiny);
  StateDict both = with_prefix(state, "teacher.backbone.");
  for (const auto& [name, tensor] : with_prefix(state, "student.backbone.").tensors)
    both.tensors[name] = tensor + 1;
  const auto release = with_release_names(both);
  EXPECT_TRUE(release.state.tensors.at("cls_token").equal(state.tensors.at("cls_token")));
  EXPECT_NE(release.state.find("student.backbone.cls_token"), nullptr);
}

TEST(VitNames, TimmsRegistersAndPackedGatesAreTranslated) {
  StateDict state = random_vit_state(kTiny);
  StateDict timm{.origin = "timm", .tensors = {}};
  for (const auto& [name, tensor] : state.tensors) {
    std::string timm_name = name == "register_tokens" ? "reg_token" : name;
    for (const auto& [ours, theirs] :
         {std::pair<std::string, std::string>{"mlp.w12", "mlp.fc1"}, {"mlp.w3", "mlp.fc2"}}) {
      if (const auto at = timm_name.find(ours); at != std::string::npos)
        timm_name.replace(at, ours.size(), theirs);
    }
    timm.tensors[timm_name] = tensor;
  }
  const auto release = with_release_names(timm);
  EXPECT_EQ(release.style, NamingStyle::kTimm);
  const VitConfig config = infer_vit_config(release, 2);
  EXPECT_EQ(config.registers, 2);
  EXPECT_TRUE(config.gated_mlp);
  const at::Tensor images = at::randn({1, 3, 8, 8}, at::kDouble);
  EXPECT_TRUE(Vit(config, release.state, at::kDouble)
                  .forward(images)
                  .allclose(Vit(kTiny, state, at::kDouble).forward(images)));
}

TEST(VitNames, BlocksOfTrainingCheckpointsAreNumberedTwice) {
  StateDict state{
      .origin = "chunked",
      .tensors = {{"cls_token", at::ones({1, 1, 4})}, {"blocks.3.7.norm1.weight", at::ones({4})}}};
  EXPECT_NE(with_release_names(state).state.find("blocks.7.norm1.weight"), nullptr);
}

}  // namespace
}  // namespace protogcd
