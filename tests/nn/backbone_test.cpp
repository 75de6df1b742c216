#include "protogcd/nn/backbone.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/nn/random_state.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

void write_state(const std::filesystem::path& path, const StateDict& state) {
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : state.tensors) entries.push_back(entry_of(name, tensor));
  write_safetensors(path, entries);
}

const VitConfig kTiny{.patch = 8, .width = 128, .depth = 2, .heads = 2, .hidden = 48, .grid = 3};

TEST(Backbone, GeometryIsReadFromTheFile) {
  const TemporaryFolder folder;
  write_state(folder / "tiny.safetensors", random_vit_state(kTiny));
  const Backbone backbone =
      load_backbone({.backbone = folder / "tiny.safetensors", .weights_dir = {}, .heads = {}});
  EXPECT_EQ(backbone.config.patch, 8);
  EXPECT_EQ(backbone.config.depth, 2);
  EXPECT_EQ(backbone.config.heads, 2);
  EXPECT_EQ(backbone.config.hidden, 48);
  EXPECT_EQ(backbone.config.grid, 3);
  EXPECT_EQ(backbone.vit.forward(at::zeros({1, 3, 24, 24})).size(1), 128);
}

std::string load_error(const BackboneChoice& choice) {
  try {
    load_backbone(choice);
  } catch (const Error& error) {
    return std::string(error.what()) + "\n" + error.hint();
  }
  return "";
}

TEST(Backbone, AMissingPresetFileSaysWhatToGetAndWhereToPutIt) {
  const TemporaryFolder folder;
  EXPECT_THAT(load_error({.backbone = "dino-vitb16", .weights_dir = folder.path(), .heads = {}}),
              AllOf(HasSubstr("dino_vitbase16_pretrain.pth"), HasSubstr("get "),
                    HasSubstr(folder.path().string())));
}

TEST(Backbone, AnUnknownNameIsNeitherFileNorPreset) {
  EXPECT_THAT(load_error({.backbone = "dino-vitb61", .weights_dir = {}, .heads = {}}),
              AllOf(HasSubstr(
                  "'dino-vitb61' is neither a file nor a preset; did you mean 'dino-vitb16'?")));
}

TEST(Backbone, AllThatDoesNotFitIsListedTogetherWithTheNearestNames) {
  const TemporaryFolder folder;
  StateDict state = random_vit_state(kTiny);
  auto node = state.tensors.extract("blocks.1.attn.proj.weight");
  node.key() = "blocks.1.attn.project.weight";
  state.tensors.insert(std::move(node));
  state.tensors["norm.bias"] = at::zeros({5});
  write_state(folder / "bad.safetensors", state);
  EXPECT_THAT(load_error({.backbone = folder / "bad.safetensors", .weights_dir = {}, .heads = {}}),
              AllOf(HasSubstr("missing: blocks.1.attn.proj.weight [128, 128] (nearest: "
                              "blocks.1.attn.project.weight)"),
                    HasSubstr("wrong shape: norm.bias is [5], expected [128]"),
                    HasSubstr("unexpected: blocks.1.attn.project.weight")));
}

TEST(Backbone, AFileThatIsNoTransformerIsNamed) {
  const TemporaryFolder folder;
  write_state(folder / "other.safetensors",
              {.origin = "", .tensors = {{"weight", at::zeros({3})}}});
  EXPECT_THAT(
      load_error({.backbone = folder / "other.safetensors", .weights_dir = {}, .heads = {}}),
      HasSubstr("not a Vision Transformer"));
}

TEST(Backbone, EveryPresetHasConsistentGeometry) {
  for (const auto& preset : vit_presets()) {
    EXPECT_EQ(preset.config.width % preset.config.heads, 0) << preset.name;
    EXPECT_EQ(preset.preprocessing.size % preset.config.patch, 0) << preset.name;
    EXPECT_EQ(find_vit_preset(preset.name), &preset);
  }
}

}  // namespace
}  // namespace protogcd
