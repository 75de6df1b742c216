// Sixteen steps of training against the released code: losses before each, weights after the last.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "protogcd/engine/tail.h"
#include "protogcd/methods/learning_rate.h"
#include "protogcd/methods/protogcd/protogcd.h"
#include "protogcd/nn/state_dict.h"
#include "protogcd/training/train_step.h"
#include "tests/support/golden.h"
#include "tests/support/no_sets.h"

namespace protogcd {
namespace {

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual.to(at::kDouble) - expected).abs().max() / expected.abs().max()).item<double>();
}

/// The last block as the published code runs it: every token through all of it.
class PlainLastBlock : public TrainedBlocks {
 public:
  explicit PlainLastBlock(const Vit& vit) : vit_(vit.converted(at::kDouble, at::kCPU)) {}

  at::Tensor forward(const TrunkTokens& tokens) const override {
    return vit_.final_norm(vit_.block(vit_.config().depth - 1, tokens.raw)).select(1, 0);
  }
  std::map<std::string, at::Tensor> named_parameters() const override {
    const BlockWeights& block = vit_.weights().blocks.back();
    const std::string name = "blocks." + std::to_string(vit_.config().depth - 1) + ".";
    return {{name + "norm1.weight", block.norm1.weight},
            {name + "norm1.bias", block.norm1.bias},
            {name + "norm2.weight", block.norm2.weight},
            {name + "norm2.bias", block.norm2.bias},
            {name + "attn.qkv.weight", block.qkv.weight},
            {name + "attn.qkv.bias", block.qkv.bias},
            {name + "attn.proj.weight", block.projection.weight},
            {name + "attn.proj.bias", block.projection.bias},
            {name + "mlp.fc1.weight", block.in.weight},
            {name + "mlp.fc1.bias", block.in.bias},
            {name + "mlp.fc2.weight", block.out.weight},
            {name + "mlp.fc2.bias", block.out.bias}};
  }

  std::unique_ptr<TrainedBlocks> copy() const override {
    auto other = std::make_unique<PlainLastBlock>(vit_);
    BlockWeights& block = other->vit_.weights().blocks.back();
    block = copied(block, at::kDouble, at::kCPU);
    return other;
  }

 private:
  Vit vit_;
};

using MakeBlocks = std::function<std::unique_ptr<TrainedBlocks>(const Vit&)>;
using MakeTokens = std::function<TrunkTokens(const Vit&, const at::Tensor& images)>;

void expect_trajectory(const MakeBlocks& make_blocks, const MakeTokens& tokens_of) {
  constexpr double kTolerance = 1e-9;
  const StateDict golden = load_state_dict(testing::golden_folder() / "trajectory.safetensors");
  const auto settings = testing::golden_json().at("trajectory");
  const VitConfig config{
      .patch = settings.at("patch"),
      .width = settings.at("dim"),
      .depth = settings.at("depth"),
      .heads = settings.at("heads"),
      .hidden = 4 * settings.at("dim").get<std::int64_t>(),
      .grid = settings.at("image").get<std::int64_t>() / settings.at("patch").get<std::int64_t>()};
  StateDict backbone{.origin = "trajectory", .tensors = {}};
  for (const auto& [name, tensor] : golden.tensors) {
    if (name.starts_with("init.0.")) backbone.tensors[name.substr(7)] = tensor;
  }
  const Vit vit(config, backbone, at::kDouble);
  const auto blocks = make_blocks(vit);
  const std::int64_t classes = settings.at("K"), images = settings.at("B");
  const ScheduleOptions schedule{.epochs = settings.at("epochs"), .rate = settings.at("lr")};
  ProtoGcdOptions options;
  options.ramp_epochs = settings.at("ramp_epochs").get<std::int64_t>();
  options.head.hidden = settings.at("hidden_dim").get<std::int64_t>();
  options.head.projection = settings.at("bottleneck_dim");
  const auto method =
      options.make({.width = config.width,
                    .classes = std::vector<std::string>(static_cast<std::size_t>(classes)),
                    .old_classes = settings.at("K_old"),
                    .epochs = schedule.epochs,
                    .type = at::kDouble});
  for (const auto& [name, tensor] : method->parameters()) {
    tensor.copy_(golden.tensors.at("init.1." + name));
  }
  SingleProcess alone;
  TrainStep step(*blocks, *method,
                 {.momentum = settings.at("momentum"), .weight_decay = settings.at("weight_decay")},
                 alone);
  testing::NoSets none;

  for (const auto& expected : settings.at("steps")) {
    const int epoch = expected.at("epoch"), number = expected.at("step");
    const std::string prefix =
        "epoch" + std::to_string(epoch) + ".step" + std::to_string(number) + ".";
    SCOPED_TRACE(prefix);
    const double rate = learning_rate(schedule, epoch);
    EXPECT_NEAR(rate, expected.at("lr").get<double>(), 1e-15);
    method->begin_epoch({.epoch = epoch, .images_per_step = images, .sets = none});
    std::vector<StepBatch> batches = {
        {.labels = golden.tensors.at(prefix + "labels"),
         .labelled = golden.tensors.at(prefix + "mask_labelled").to(at::kDouble),
         .tokens = tokens_of(vit, golden.tensors.at(prefix + "images"))}};
    const StepLoss loss = step.run(batches, at::scalar_tensor(rate, at::kDouble));
    const auto expect_near = [&](const at::Tensor& term, const std::string& name) {
      const double value = expected.at(name);
      EXPECT_NEAR(term.item<double>(), value, kTolerance * std::max(1.0, std::abs(value))) << name;
    };
    const std::map<std::string, std::string> in_golden = {{"sup", "sup"},
                                                          {"dapl", "dapl"},
                                                          {"entropy", "entropy"},
                                                          {"separation", "separation"},
                                                          {"unsup_con", "contrastive_unsup"},
                                                          {"sup_con", "contrastive_sup"}};
    expect_near(loss.total, "total");
    const auto reported = method->reported();
    for (std::size_t i = 0; i < in_golden.size(); ++i)
      expect_near(loss.reported[i], in_golden.at(reported[i].name));
  }
  for (const auto& [name, tensor] : step.parameters().named()) {
    EXPECT_LT(deviation(tensor.detach(), golden.tensors.at("final." + name)), kTolerance) << name;
  }
}

TEST(TrajectoryGolden, SixteenStepsThroughTheFastTail) {
  expect_trajectory(
      [](const Vit& vit) { return make_trained_blocks(vit, 2, at::kDouble, at::kCPU); },
      [](const Vit& vit, const at::Tensor& images) {
        return Trunk(vit, at::kDouble, at::kCPU).run(images);
      });
}

TEST(TrajectoryGolden, SixteenStepsThroughThePlainBlock) {
  expect_trajectory([](const Vit& vit) { return std::make_unique<PlainLastBlock>(vit); },
                    [](const Vit& vit, const at::Tensor& images) {
                      at::Tensor tokens = vit.embed(images.to(at::kDouble));
                      for (std::int64_t i = 0; i < 2; ++i) tokens = vit.block(i, tokens);
                      return TrunkTokens{.normalised = {}, .class_token = {}, .raw = tokens};
                    });
}

}  // namespace
}  // namespace protogcd
