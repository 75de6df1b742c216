// The pre-trained network: initial weights, drop path, mixed precision.
#include "protogcd/pretrain/network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

namespace protogcd {
namespace {

const VitConfig kConfig{.patch = 4, .width = 32, .depth = 3, .heads = 2, .hidden = 128, .grid = 4};
const Placement kPlain{.device = at::kCPU, .frozen = at::kFloat, .trained = at::kFloat};
const Placement kMixed{.device = at::kCPU, .frozen = at::kBFloat16, .trained = at::kFloat};

at::Tensor images(std::int64_t count) {
  at::manual_seed(5);
  return at::randn({count, 3, 16, 16});
}

TEST(PretrainNetwork, InitialWeightsComeFromTheSeed) {
  const StateDict a = initial_vit_state(kConfig, 1), b = initial_vit_state(kConfig, 1),
                  c = initial_vit_state(kConfig, 2);
  for (const auto& [name, tensor] : a.tensors) {
    EXPECT_TRUE(tensor.equal(b.tensors.at(name))) << name;
    const bool constant = tensor.dim() == 1;
    EXPECT_EQ(tensor.equal(c.tensors.at(name)), constant) << name;
    if (name.ends_with("bias")) {
      EXPECT_EQ(tensor.abs().max().item<float>(), 0) << name;
    } else if (constant) {
      EXPECT_EQ(tensor.min().item<float>(), 1) << name;
    }
  }
  const at::Tensor matrix = a.tensors.at("blocks.0.mlp.fc1.weight");
  EXPECT_NEAR(matrix.std().item<double>(), 0.02, 0.002);
  EXPECT_FALSE(
      a.tensors.at("blocks.0.attn.proj.weight").equal(a.tensors.at("blocks.1.attn.proj.weight")));
}

TEST(PretrainNetwork, WithoutDropPathItIsThePlainModel) {
  const PretrainNetwork network(kConfig, kPlain, 0, 3);
  const at::NoGradGuard no_grad;
  EXPECT_EQ(network.drop_numbers(), 0);
  EXPECT_TRUE(
      at::allclose(network.features(images(4)), network.vit().forward(images(4)), 1e-5, 1e-6));
}

TEST(DropPath, RatesRiseEvenlyToTheLastBlock) {
  const PretrainNetwork network(kConfig, kPlain, 0.4, 3);
  EXPECT_EQ(network.drop_numbers(), 6);
  EXPECT_DOUBLE_EQ(network.drop_rate(0), 0);
  EXPECT_DOUBLE_EQ(network.drop_rate(1), 0.2);
  EXPECT_DOUBLE_EQ(network.drop_rate(2), 0.4);
}

/// One block whose MLP adds nothing and whose attention adds 1 to every channel of the middle
/// before the final norm, which is taken away too: what comes out counts the branches that stayed.
TEST(DropPath, LeavesOutItsShareAndKeepsTheMean) {
  constexpr double kRate = 0.3;
  constexpr std::int64_t kImages = 4000;
  const VitConfig config{.patch = 4, .width = 4, .depth = 1, .heads = 1, .hidden = 4, .grid = 1};
  const PretrainNetwork network(config, kPlain, kRate, 3);
  const at::NoGradGuard no_grad;
  // CLS enters as (1, -1, 1, -1); attention adds (a, a, -a, -a), so that the norm's input tells
  // whether it was added, and how often.
  auto named = network.named_parameters();
  for (auto& [name, tensor] : named) {
    if (name.find("norm") == std::string::npos) tensor.zero_();
  }
  named.at("cls_token").copy_(at::tensor({1.F, -1.F, 1.F, -1.F}).view({1, 1, 4}));
  named.at("blocks.0.attn.proj.bias").copy_(at::tensor({1.F, 1.F, -1.F, -1.F}));
  at::manual_seed(1);
  const at::Tensor features =
      network.features(at::zeros({kImages, 3, 4, 4}), at::rand({kImages, 2}));
  // Of x = (1 + f, -1 + f, 1 - f, -1 - f): the mean is 0, the first two sum to 2 f / deviation.
  const at::Tensor sum = features.select(1, 0) + features.select(1, 1);
  const double share = (sum.abs() < 1e-6).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(share, kRate, 0.03);
  // Those that stay are multiplied by 1 / (1 - rate).
  const double factor = 1 / (1 - kRate), expected = 2 * factor / std::sqrt(1 + factor * factor);
  EXPECT_NEAR(sum.max().item<double>(), expected, 1e-4);
  EXPECT_NEAR(sum.mean().item<double>(), (1 - share) * expected, 1e-4);
  // At evaluation nothing is left out and nothing grows.
  const at::Tensor plain = network.features(at::zeros({2, 3, 4, 4}));
  EXPECT_NEAR((plain.select(1, 0) + plain.select(1, 1)).max().item<double>(), std::sqrt(2.0), 1e-4);
}

TEST(MixedPrecision, GivesNearlyTheSameFeaturesAndFloatGradients) {
  const PretrainNetwork plain(kConfig, kPlain, 0, 3), mixed(kConfig, kMixed, 0, 3);
  for (const auto& [name, tensor] : mixed.named_parameters()) {
    EXPECT_EQ(tensor.scalar_type(), at::kFloat) << name;
    tensor.requires_grad_(true);
  }
  const at::Tensor exact = plain.features(images(6)), rounded = mixed.features(images(6));
  EXPECT_EQ(rounded.scalar_type(), at::kFloat);
  const double difference = (exact - rounded).abs().max().item<double>();
  EXPECT_GT(difference, 0) << "nothing was computed in bfloat16";
  EXPECT_LT(difference, 0.1);
  rounded.square().sum().backward();
  for (const auto& [name, tensor] : mixed.named_parameters()) {
    ASSERT_TRUE(tensor.grad().defined()) << name;
    EXPECT_EQ(tensor.grad().scalar_type(), at::kFloat) << name;
  }
}

}  // namespace
}  // namespace protogcd
