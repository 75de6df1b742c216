#include "protogcd/engine/trunk.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "protogcd/core/error.h"
#include "protogcd/nn/random_state.h"
#include "tests/support/cuda.h"

namespace protogcd {
namespace {

/// The plain model's tokens before the last block.
at::Tensor plain_tokens(const Vit& vit, const at::Tensor& images) {
  at::Tensor tokens = vit.embed(images);
  for (std::int64_t i = 0; i + 1 < vit.config().depth; ++i) tokens = vit.block(i, tokens);
  return tokens;
}

double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  return ((actual.to(at::kDouble) - expected).norm() / expected.norm()).item<double>();
}

void expect_trunk_matches(const VitConfig& config, at::ScalarType type, double tolerance) {
  const Vit vit(config, random_vit_state(config), at::kDouble);
  const at::Tensor images =
      at::randn({3, 3, config.grid * config.patch, config.grid * config.patch}, at::kDouble);
  const at::Tensor expected = plain_tokens(vit, images);
  const TrunkTokens tokens = Trunk(vit, type, at::kCPU).run(images);
  EXPECT_EQ(tokens.normalised.scalar_type(), type);
  EXPECT_LT(relative_error(tokens.class_token, expected.select(1, 0)), tolerance);
  EXPECT_LT(relative_error(tokens.normalised,
                           at::layer_norm(expected, {config.width}, {}, {}, config.epsilon)),
            tolerance);
}

const VitConfig kPlain{.patch = 8, .width = 64, .depth = 4, .heads = 4, .hidden = 96, .grid = 3};
const VitConfig kFull{.patch = 8,
                      .width = 64,
                      .depth = 3,
                      .heads = 2,
                      .hidden = 80,
                      .grid = 3,
                      .registers = 2,
                      .layer_scale = true,
                      .gated_mlp = true,
                      .position_on_class = false};

/// 64 channels a head, as in every public release: what kernels of our own are made for.
const VitConfig kWide{.patch = 8, .width = 128, .depth = 4, .heads = 2, .hidden = 96, .grid = 5};

TEST(Trunk, IsThePlainModelInFloat64) {
  expect_trunk_matches(kPlain, at::kDouble, 1e-12);
  expect_trunk_matches(kFull, at::kDouble, 1e-12);
}

TEST(Trunk, PackedFloat32IsThePlainModelUpToRounding) {
  expect_trunk_matches(kPlain, at::kFloat, 1e-5);
  expect_trunk_matches(kFull, at::kFloat, 1e-5);
}

TEST(Trunk, PackedBfloat16IsThePlainModelUpToRounding) {
  expect_trunk_matches(kPlain, at::kBFloat16, 2e-2);
  expect_trunk_matches(kFull, at::kBFloat16, 2e-2);
}

TEST(Trunk, PackedBfloat16IsAsExactAsThePlainModelInBfloat16) {
  const Vit vit(kWide, random_vit_state(kWide), at::kDouble);
  const at::Tensor images = at::randn({3, 3, 40, 40}, at::kDouble);
  const at::Tensor exact = plain_tokens(vit, images).select(1, 0);
  const double plain = relative_error(
      plain_tokens(vit.converted(at::kBFloat16, at::kCPU), images.to(at::kBFloat16)).select(1, 0),
      exact);
  const double packed =
      relative_error(Trunk(vit, at::kBFloat16, at::kCPU).run(images).class_token, exact);
  EXPECT_LT(packed, 1.5 * plain);
}

TEST(Trunk, FusedCudaIsThePlainModelUpToRounding) {
  PROTOGCD_NEEDS_CUDA();
  for (const VitConfig& config : {kPlain, kFull}) {
    const Vit vit(config, random_vit_state(config), at::kDouble);
    const at::Tensor images =
        at::randn({3, 3, config.grid * config.patch, config.grid * config.patch}, at::kDouble);
    const TrunkTokens on_cpu = Trunk(vit, at::kDouble, at::kCPU).run(images);
    for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-5}, {at::kBFloat16, 2e-2}}) {
      const TrunkTokens on_cuda = Trunk(vit, type, at::kCUDA).run(images);
      EXPECT_LT(relative_error(on_cuda.normalised.cpu(), on_cpu.normalised), tolerance);
      EXPECT_LT(relative_error(on_cuda.class_token.cpu(), on_cpu.class_token), tolerance);
    }
  }
}

TEST(Trunk, HandsOutRawTokensBeforeAnyTrainedBlockOnCuda) {
  PROTOGCD_NEEDS_CUDA();
  const Vit vit(kPlain, random_vit_state(kPlain), at::kDouble);
  const at::Tensor images = at::randn({3, 3, 24, 24}, at::kDouble);
  for (const std::int64_t first : {0, 1, 2}) {
    const TrunkTokens tokens = Trunk(vit, at::kBFloat16, at::kCUDA, first).run(images);
    EXPECT_FALSE(tokens.normalised.defined());
    EXPECT_LT(
        relative_error(tokens.raw.cpu(), Trunk(vit, at::kDouble, at::kCPU, first).run(images).raw),
        2e-2);
  }
}

TEST(Trunk, KeepsNoGraph) {
  const Vit vit(kPlain, random_vit_state(kPlain), at::kFloat);
  EXPECT_FALSE(
      Trunk(vit, at::kFloat, at::kCPU).run(at::randn({1, 3, 24, 24})).normalised.requires_grad());
}

TEST(Trunk, TypeFollowsTheChoice) {
  EXPECT_EQ(trunk_type("float32", at::kCPU), at::kFloat);
  EXPECT_EQ(trunk_type("auto", at::kCPU), fastest_trunk_type(at::kCPU));
  EXPECT_THROW(trunk_type("int8", at::kCPU), UsageError);
}

}  // namespace
}  // namespace protogcd
