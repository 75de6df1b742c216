// The absorbed CLS-only block against the plain one: the same function, the same gradients.
#include "protogcd/engine/tail.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "protogcd/nn/random_state.h"

namespace protogcd {
namespace {

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual - expected).abs().max() / expected.abs().max()).item<double>();
}

/// The block's parameters in a fixed order, made trainable.
std::vector<at::Tensor> trainable(BlockWeights& block) {
  std::vector<at::Tensor> parameters = {
      block.norm1.weight, block.norm1.bias, block.norm2.weight,      block.norm2.bias,
      block.qkv.weight,   block.qkv.bias,   block.projection.weight, block.projection.bias,
      block.in.weight,    block.in.bias,    block.out.weight,        block.out.bias};
  if (block.scale1.defined()) parameters.insert(parameters.end(), {block.scale1, block.scale2});
  for (auto& parameter : parameters) parameter.requires_grad_(true);
  return parameters;
}

void expect_same_values_and_gradients(const VitConfig& config, std::int64_t batch,
                                      std::int64_t image) {
  Vit vit(config, random_vit_state(config), at::kDouble);
  const at::Tensor images = at::randn({batch, 3, image, image}, at::kDouble);
  const Trunk trunk(vit, at::kDouble, at::kCPU);
  Tail tail(vit, at::kDouble, at::kCPU);
  const at::Tensor weighting = at::randn({batch, config.width}, at::kDouble);

  const auto tail_parameters = trainable(tail.block());
  const at::Tensor fast = tail.forward(trunk.run(images));
  const auto fast_gradients = torch::autograd::grad({(fast * weighting).sum()}, tail_parameters);

  at::Tensor tokens = vit.embed(images);
  for (std::int64_t i = 0; i + 1 < config.depth; ++i) tokens = vit.block(i, tokens);
  const auto plain_parameters = trainable(vit.weights().blocks.back());
  const at::Tensor plain = vit.final_norm(vit.block(config.depth - 1, tokens)).select(1, 0);
  const auto plain_gradients = torch::autograd::grad({(plain * weighting).sum()}, plain_parameters);

  EXPECT_LT(deviation(fast, plain), 1e-9);
  ASSERT_EQ(fast_gradients.size(), plain_gradients.size());
  for (std::size_t i = 0; i < fast_gradients.size(); ++i) {
    EXPECT_LT(deviation(fast_gradients[i], plain_gradients[i]), 1e-9) << "gradient " << i;
  }
}

TEST(Tail, EqualsThePlainLastBlockOnRandomShapes) {
  for (const auto& [width, heads, depth, batch, image] :
       {std::tuple{24, 3, 2, 3, 16}, {32, 4, 3, 1, 24}, {48, 1, 2, 5, 8}, {16, 2, 4, 2, 32}}) {
    SCOPED_TRACE(width);
    expect_same_values_and_gradients({.patch = 8,
                                      .width = width,
                                      .depth = depth,
                                      .heads = heads,
                                      .hidden = 3 * width,
                                      .grid = image / 8},
                                     batch, image);
  }
}

TEST(Tail, EqualsThePlainLastBlockWithLayerScaleRegistersAndGates) {
  expect_same_values_and_gradients({.patch = 8,
                                    .width = 24,
                                    .depth = 2,
                                    .heads = 3,
                                    .hidden = 40,
                                    .grid = 2,
                                    .registers = 3,
                                    .layer_scale = true,
                                    .gated_mlp = true,
                                    .position_on_class = false},
                                   3, 16);
}

TEST(Tail, ParametersKeepTheNamesOfTheRelease) {
  const VitConfig config{.patch = 8,
                         .width = 16,
                         .depth = 3,
                         .heads = 2,
                         .hidden = 32,
                         .grid = 2,
                         .layer_scale = true};
  const Vit vit(config, random_vit_state(config), at::kDouble);
  const Tail tail(vit, at::kDouble, at::kCPU);
  const auto parameters = tail.named_parameters();
  EXPECT_EQ(parameters.size(), 14u);
  for (const auto& [name, shape] : vit_tensors(config)) {
    if (!name.starts_with("blocks.2.")) continue;
    ASSERT_TRUE(parameters.contains(name)) << name;
    EXPECT_EQ(parameters.at(name).sizes(), at::IntArrayRef(shape)) << name;
  }
}

TEST(Tail, TrainingItLeavesTheModelItCameFromAlone) {
  const VitConfig config{.patch = 8, .width = 16, .depth = 2, .heads = 2, .hidden = 32, .grid = 2};
  const Vit vit(config, random_vit_state(config), at::kDouble);
  Tail tail(vit, at::kDouble, at::kCPU);
  tail.block().qkv.weight.zero_();
  EXPECT_GT(vit.weights().blocks.back().qkv.weight.abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace protogcd
