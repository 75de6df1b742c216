// Files of the Python packages: their names are understood, and the model gives the package's own
// numbers.
#include "protogcd/nn/vit_names.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/nn/random_state.h"
#include "protogcd/nn/vit.h"
#include "tests/support/error_message.h"
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

/// A good Hugging Face file with one tensor replaced (undefined: left out): what loading it says.
std::string message_with(const std::string& name, const at::Tensor& tensor) {
  StateDict state = load_state_dict(fixture("hf_dinov2_registers.safetensors"));
  EXPECT_NE(state.find(name), nullptr) << name;
  if (tensor.defined()) {
    state.tensors[name] = tensor;
  } else {
    state.tensors.erase(name);
  }
  return testing::message_of<ModelFileError>([&] {
    const ReleaseState release = with_release_names(state);
    Vit(infer_vit_config(release, 2), release.state);
  });
}

const std::string kQuery = "encoder.layer.1.attention.attention.query.",
                  kKey = "encoder.layer.1.attention.attention.key.",
                  kValue = "encoder.layer.1.attention.attention.value.";

TEST(VitNames, MalformedQueriesKeysAndValuesAreNamed) {
  const std::int64_t width = load_state_dict(fixture("hf_dinov2_registers.safetensors"))
                                 .tensors.at(kQuery + "bias")
                                 .size(0);
  using ::testing::HasSubstr;
  for (const std::string& part : {kKey, kValue}) {
    for (const at::Tensor& bad : {at::Tensor(), at::ones({}), at::empty({0}),
                                  at::ones({width, width + 1}), at::ones({width})}) {
      EXPECT_THAT(message_with(part + "weight", bad), HasSubstr("blocks.1.attn.qkv.weight"));
    }
    for (const at::Tensor& bad : {at::Tensor(), at::ones({}), at::empty({0}), at::ones({1})})
      EXPECT_THAT(message_with(part + "bias", bad), HasSubstr("blocks.1.attn.qkv.bias"));
  }
  // Without queries there is nothing to join; the matrix is then missing.
  EXPECT_THAT(message_with(kQuery + "weight", {}), HasSubstr("blocks.1.attn.qkv.weight"));
  EXPECT_THAT(message_with(kQuery + "weight", at::ones({})), HasSubstr("blocks.1.attn.qkv.weight"));
}

TEST(VitNames, MalformedRegisterTokensAreNamed) {
  using ::testing::HasSubstr;
  const std::string name = "embeddings.register_tokens";
  for (const at::Tensor& bad : {at::ones({}), at::ones({4}), at::empty({0}), at::ones({1, 4, 1}),
                                at::ones({2, 4, 16}), at::ones({1, 1, 4, 16})}) {
    EXPECT_THAT(message_with(name, bad), HasSubstr("register_tokens"));
  }
  EXPECT_EQ(message_with(name, {}), "accepted") << "a model without register tokens";
}

TEST(VitNames, EmptyTensorsAreNoModel) {
  using ::testing::HasSubstr;
  const StateDict good = load_state_dict(fixture("hf_dinov2_registers.safetensors"));
  for (const auto& [name, tensor] : good.tensors) {
    if (name == "embeddings.mask_token" || name == "embeddings.register_tokens") continue;
    auto shape = tensor.sizes().vec();
    shape.front() = 0;
    EXPECT_NE(message_with(name, at::empty(shape)), "accepted") << name;
    EXPECT_NE(message_with(name, at::empty({0})), "accepted") << name;
  }
  EXPECT_THAT(
      message_with("embeddings.patch_embeddings.projection.weight", at::empty({0, 3, 14, 14})),
      HasSubstr("patch_embed.proj.weight"));
  VitConfig empty = kTiny;
  empty.width = 0;
  EXPECT_THROW(infer_vit_config(with_release_names(random_vit_state(empty)), 2), ModelFileError);
}

}  // namespace
}  // namespace protogcd
