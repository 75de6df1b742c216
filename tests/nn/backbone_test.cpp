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

TEST(Backbone, AMissingPresetFileSaysHowToGetIt) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      load_error({.backbone = "dino-vitb16", .weights_dir = folder.path(), .heads = {}}),
      AllOf(HasSubstr("dino_vitbase16_pretrain.pth"),
            HasSubstr("protogcd weights get dino-vitb16 weights_dir " + folder.path().string())));
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

TEST(Backbone, WhatIsSavedLoadsAsTheSameModel) {
  const TemporaryFolder folder;
  VitConfig config = kTiny;
  config.heads = 8;
  const Vit vit(config, random_vit_state(config, at::kFloat));
  const Preprocessing pixels{.size = 24, .mean = {0, 0.25, 0.1}, .deviation = {0.5, 1, 0.3}};
  save_backbone(folder / "b.safetensors", vit, pixels, ElementType::kFloat32);
  const Backbone backbone =
      load_backbone({.backbone = folder / "b.safetensors", .weights_dir = {}, .heads = {}});
  EXPECT_EQ(backbone.config.heads, 8);
  EXPECT_EQ(backbone.preprocessing.size, 24);
  EXPECT_EQ(backbone.preprocessing.mean, pixels.mean);
  EXPECT_EQ(backbone.preprocessing.deviation, pixels.deviation);
  const at::Tensor images = at::randn({2, 3, 24, 24});
  EXPECT_TRUE(backbone.vit.forward(images).equal(vit.forward(images)));
  EXPECT_EQ(load_backbone({.backbone = folder / "b.safetensors", .weights_dir = {}, .heads = 4})
                .config.heads,
            4)
      << "a flag wins";
}

// The names alone would give every saved file the epsilon and positions of DINO.
TEST(Backbone, WhatIsSavedKeepsTheSettingsOfTheReleaseItCameFrom) {
  const TemporaryFolder folder;
  const auto saved = [&](const VitConfig& config) {
    save_backbone(folder / "b.safetensors", Vit(config, random_vit_state(config)), {},
                  ElementType::kFloat32);
    return load_backbone({.backbone = folder / "b.safetensors", .weights_dir = {}, .heads = {}})
        .config;
  };
  for (const std::int64_t registers : {0, 2}) {
    VitConfig config = kTiny;
    config.registers = registers;
    config.position_rule = PositionRule::kAntialias;  // timm
    EXPECT_EQ(saved(config).position_rule, PositionRule::kAntialias);
  }
  VitConfig config = kTiny;
  config.position_rule = PositionRule::kSize;  // Hugging Face's DINOv2
  EXPECT_EQ(saved(config).position_rule, PositionRule::kSize);
  EXPECT_EQ(saved(config).epsilon, 1e-6);
  config.epsilon = 1e-12;  // its ViT
  EXPECT_EQ(saved(config).position_rule, PositionRule::kSize);
  EXPECT_EQ(saved(config).epsilon, 1e-12);
}

TEST(Backbone, ABlockWithoutItsFirstTensorDoesNotEndTheNetworkEarly) {
  const TemporaryFolder folder;
  StateDict state = random_vit_state(kTiny);
  state.tensors.erase("blocks.1.norm1.weight");
  write_state(folder / "bad.safetensors", state);
  EXPECT_THAT(load_error({.backbone = folder / "bad.safetensors", .weights_dir = {}, .heads = {}}),
              AllOf(HasSubstr("bad.safetensors"), HasSubstr("missing: blocks.1.norm1.weight")));
}

TEST(Backbone, ANoteThatMakesNoSenseIsNamed) {
  const StateDict state = random_vit_state(kTiny);
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : state.tensors) entries.push_back(entry_of(name, tensor));
  const std::pair<const char*, const char*> notes[] = {{"protogcd.heads", "many"},
                                                       {"protogcd.heads", "0"},
                                                       {"protogcd.image_size", "-64"},
                                                       {"protogcd.mean", "0.5,0.5"},
                                                       {"protogcd.std", "0.2,0,0.2"}};
  const TemporaryFolder folder;
  for (const auto& [key, value] : notes) {
    write_safetensors(folder / "b.safetensors", entries, {{key, value}});
    EXPECT_THAT(load_error({.backbone = folder / "b.safetensors", .weights_dir = {}, .heads = {}}),
                AllOf(HasSubstr(key), HasSubstr(value)));
  }
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
