// Several trained blocks against the plain model: the same function, the same gradients.
#include "protogcd/engine/plain_tail.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include "protogcd/core/error.h"
#include "protogcd/nn/random_state.h"
#include "tests/support/error_message.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;

const VitConfig kPlain{.patch = 8, .width = 24, .depth = 4, .heads = 3, .hidden = 48, .grid = 2};
const VitConfig kFull{.patch = 8,
                      .width = 32,
                      .depth = 3,
                      .heads = 2,
                      .hidden = 40,
                      .grid = 3,
                      .registers = 2,
                      .layer_scale = true,
                      .gated_mlp = true,
                      .position_on_class = false};

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual - expected).abs().max() / expected.abs().max()).item<double>();
}

at::Tensor random_images(const VitConfig& config) {
  return at::randn({3, 3, config.grid * config.patch, config.grid * config.patch}, at::kDouble);
}

struct Outcome {
  at::Tensor features;
  std::map<std::string, at::Tensor> gradients;
};

/// Gradients of a weighted sum of the features in all parameters.
template <class Forward>
Outcome differentiate(std::map<std::string, at::Tensor> parameters, const at::Tensor& weighting,
                      const Forward& forward) {
  std::vector<at::Tensor> list;
  for (auto& [name, tensor] : parameters) list.push_back(tensor.requires_grad_(true));
  const at::Tensor features = forward();
  const auto gradients = torch::autograd::grad({(features * weighting).sum()}, list);
  Outcome outcome{features.detach(), {}};
  for (std::size_t i = 0; const auto& [name, tensor] : parameters)
    outcome.gradients[name] = gradients[i++];
  return outcome;
}

void expect_same(const Outcome& actual, const Outcome& expected) {
  EXPECT_LT(deviation(actual.features, expected.features), 1e-9);
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    ASSERT_TRUE(actual.gradients.contains(name)) << name;
    EXPECT_LT(deviation(actual.gradients.at(name), gradient), 1e-9) << name;
  }
}

/// Autograd through the plain Vit, in blocks first_block .. depth-1.
Outcome plain_outcome(Vit vit, std::int64_t first_block, const at::Tensor& images,
                      const at::Tensor& weighting) {
  std::map<std::string, at::Tensor> parameters;
  for (std::int64_t i = first_block; i < vit.config().depth; ++i) {
    BlockWeights& block = vit.weights().blocks[i] =
        copied(vit.weights().blocks[i], at::kDouble, at::kCPU);
    parameters.merge(named_tensors(block, vit.config(), i));
  }
  return differentiate(parameters, weighting, [&] { return vit.forward(images); });
}

TEST(TrainedBlocks, EqualThePlainModelFromEveryFirstBlock) {
  for (const VitConfig& config : {kPlain, kFull}) {
    const Vit vit(config, random_vit_state(config), at::kDouble);
    const at::Tensor images = random_images(config);
    const at::Tensor weighting = at::randn({3, config.width}, at::kDouble);
    for (std::int64_t first = 0; first < config.depth; ++first) {
      SCOPED_TRACE(first);
      const Trunk trunk(vit, at::kDouble, at::kCPU, first);
      const auto blocks = make_trained_blocks(vit, first, at::kDouble, at::kCPU);
      expect_same(differentiate(blocks->named_parameters(), weighting,
                                [&] { return blocks->forward(trunk.run(images)); }),
                  plain_outcome(vit, first, images, weighting));
    }
  }
}

TEST(TrainedBlocks, PlainPathOfTheLastBlockAloneEqualsTheTail) {
  for (const VitConfig& config : {kPlain, kFull}) {
    const Vit vit(config, random_vit_state(config), at::kDouble);
    const at::Tensor images = random_images(config);
    const at::Tensor weighting = at::randn({3, config.width}, at::kDouble);
    TrunkTokens raw;
    raw.raw = vit.embed(images);
    for (std::int64_t i = 0; i + 1 < config.depth; ++i) raw.raw = vit.block(i, raw.raw);
    const PlainTail plain(vit, config.depth - 1, at::kDouble, at::kCPU);
    const Tail tail(vit, at::kDouble, at::kCPU);
    const TrunkTokens split = Trunk(vit, at::kDouble, at::kCPU).run(images);
    const Outcome outcome =
        differentiate(plain.named_parameters(), weighting, [&] { return plain.forward(raw); });
    expect_same(outcome, differentiate(tail.named_parameters(), weighting,
                                       [&] { return tail.forward(split); }));
    expect_same(outcome, plain_outcome(vit, config.depth - 1, images, weighting));
  }
}

TEST(TrainedBlocks, ParametersAreTheTensorsInUseAndNotTheModels) {
  const Vit vit(kPlain, random_vit_state(kPlain), at::kDouble);
  const at::Tensor images = random_images(kPlain);
  for (const std::int64_t first : {0, 3}) {
    const TrunkTokens tokens = Trunk(vit, at::kDouble, at::kCPU, first).run(images);
    const auto blocks = make_trained_blocks(vit, first, at::kDouble, at::kCPU);
    EXPECT_EQ(blocks->named_parameters().size(), 12u * (4 - first));
    const at::Tensor before = blocks->forward(tokens);
    for (auto [name, tensor] : blocks->named_parameters()) tensor.copy_(at::randn_like(tensor));
    EXPECT_GT(deviation(blocks->forward(tokens), before), 1e-3);
    EXPECT_LT(
        deviation(make_trained_blocks(vit, first, at::kDouble, at::kCPU)->forward(tokens), before),
        1e-12);
  }
}

TEST(TrainedBlocks, TakeTokensOfAFasterTrunk) {
  const Vit vit(kFull, random_vit_state(kFull), at::kDouble);
  const at::Tensor images = random_images(kFull);
  const at::Tensor expected = vit.forward(images);
  for (const std::int64_t first : {0, 1, 2}) {
    for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-4}, {at::kBFloat16, 5e-2}}) {
      const auto blocks = make_trained_blocks(vit, first, at::kFloat, at::kCPU);
      const at::Tensor features = blocks->forward(Trunk(vit, type, at::kCPU, first).run(images));
      EXPECT_EQ(features.scalar_type(), at::kFloat);
      EXPECT_LT(deviation(features.to(at::kDouble), expected), tolerance) << first;
    }
  }
}

TEST(TrainedBlocks, RefusesABlockThatTheModelDoesNotHave) {
  const Vit vit(kPlain, random_vit_state(kPlain), at::kDouble);
  for (const std::int64_t first : {-1, 4}) {
    EXPECT_THROW(make_trained_blocks(vit, first, at::kDouble, at::kCPU), UsageError);
    EXPECT_THAT(testing::message_of<UsageError>([&] { Trunk(vit, at::kDouble, at::kCPU, first); }),
                AllOf(HasSubstr("grad_from_block"), HasSubstr("expected 0 to 3")));
  }
}

}  // namespace
}  // namespace protogcd
