// The plain Vision Transformer against timm's and the releases' own numbers.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "protogcd/nn/vit.h"
#include "protogcd/nn/vit_names.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

/// One golden file: the model's weights under `model.`, its inputs and outputs beside them.
struct GoldenVit {
  explicit GoldenVit(const std::string& name) {
    state = load_state_dict(testing::golden_folder() / (name + ".safetensors"));
    const ReleaseState model = with_release_names(state);
    const auto settings = testing::golden_json().at(name);
    config = infer_vit_config(model, settings.at("heads").get<std::int64_t>());
    vit64 = std::make_unique<Vit>(config, model.state, at::kDouble);
    vit32 = std::make_unique<Vit>(config, model.state, at::kFloat);
  }

  const at::Tensor& at(const std::string& name) const { return state.tensors.at(name); }

  StateDict state;
  VitConfig config;
  std::unique_ptr<Vit> vit64, vit32;
};

/// Largest deviation as a share of the largest value: how the golden numbers are to be compared.
double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual.to(at::kDouble) - expected).abs().max() / expected.abs().max()).item<double>();
}

constexpr double kTolerance64 = 1e-9, kTolerance32 = 1e-5;

template <class Function>
void expect_match(const GoldenVit& golden, const at::Tensor& expected, const Function& compute) {
  EXPECT_LT(deviation(compute(*golden.vit64, at::kDouble), expected), kTolerance64);
  EXPECT_LT(deviation(compute(*golden.vit32, at::kFloat), expected), kTolerance32);
}

TEST(VitGolden, DinoClassTokenAndTokensOfEveryBlock) {
  const GoldenVit golden("vit_dino");
  EXPECT_EQ(golden.config.patch, 8);
  EXPECT_EQ(golden.config.depth, 3);
  EXPECT_FALSE(golden.config.layer_scale);
  expect_match(golden, golden.at("cls"), [&](const Vit& vit, at::ScalarType type) {
    return vit.forward(golden.at("images").to(type));
  });
  for (int block = 0; block < 3; ++block) {
    expect_match(golden, golden.at("tokens_after_norm_block" + std::to_string(block)),
                 [&](const Vit& vit, at::ScalarType type) {
                   at::Tensor tokens = vit.embed(golden.at("images").to(type));
                   for (int i = 0; i <= block; ++i) tokens = vit.block(i, tokens);
                   return vit.final_norm(tokens);
                 });
  }
}

TEST(VitGolden, DinoAttentionOfTheLastBlock) {
  const GoldenVit golden("vit_dino");
  expect_match(golden, golden.at("attention_last"), [&](const Vit& vit, at::ScalarType type) {
    const at::Tensor tokens = vit.block(1, vit.block(0, vit.embed(golden.at("images").to(type))));
    return vit.attention(2, tokens);
  });
}

TEST(VitGolden, DinoPositionsAreInterpolatedForAnotherImageSize) {
  const GoldenVit golden("vit_dino");
  expect_match(golden, golden.at("cls_48x40"), [&](const Vit& vit, at::ScalarType type) {
    return vit.forward(golden.at("images_48x40").to(type));
  });
}

TEST(VitGolden, Dinov2WithLayerScale) {
  const GoldenVit golden("vit_dinov2_reg0");
  EXPECT_TRUE(golden.config.layer_scale);
  EXPECT_TRUE(golden.config.position_on_class);
  expect_match(golden, golden.at("cls"), [&](const Vit& vit, at::ScalarType type) {
    return vit.forward(golden.at("images").to(type));
  });
  expect_match(golden, golden.at("tokens_after_norm"), [&](const Vit& vit, at::ScalarType type) {
    return vit.forward_tokens(golden.at("images").to(type));
  });
}

TEST(VitGolden, Dinov2WithRegisters) {
  const GoldenVit golden("vit_dinov2_reg4");
  EXPECT_EQ(golden.config.registers, 4);
  EXPECT_FALSE(golden.config.position_on_class);
  expect_match(golden, golden.at("cls"), [&](const Vit& vit, at::ScalarType type) {
    return vit.forward(golden.at("images").to(type));
  });
  expect_match(golden, golden.at("tokens_after_norm"), [&](const Vit& vit, at::ScalarType type) {
    return vit.forward_tokens(golden.at("images").to(type));
  });
}

}  // namespace
}  // namespace protogcd
