// Sixteen steps of training against the released code: losses before each, weights after the last.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "protogcd/engine/tail.h"
#include "protogcd/gcd/schedule.h"
#include "protogcd/gcd/train_step.h"
#include "protogcd/nn/state_dict.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual.to(at::kDouble) - expected).abs().max() / expected.abs().max()).item<double>();
}

TEST(TrajectoryGolden, SixteenStepsThroughTheFastTail) {
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
  const Trunk trunk(vit, at::kDouble, at::kCPU);
  Tail tail(vit, at::kDouble, at::kCPU);
  const std::int64_t classes = settings.at("K"), images = settings.at("B");
  Head head({.width = config.width,
             .classes = classes,
             .hidden = settings.at("hidden_dim"),
             .projection = settings.at("bottleneck_dim")},
            0, at::kDouble, at::kCPU);
  for (const auto& [name, tensor] : head.named_parameters()) {
    tensor.copy_(golden.tensors.at("init.1." + name));
  }
  const Objective objective({}, classes, {}, at::kDouble, at::kCPU);
  SingleProcess alone;
  TrainStep step(tail, head, objective,
                 {.momentum = settings.at("momentum"), .weight_decay = settings.at("weight_decay")},
                 alone);
  const ScheduleOptions schedule{.epochs = settings.at("epochs"),
                                 .rate = settings.at("lr"),
                                 .hard_labels = HardLabels::kRamp,
                                 .ramp_epochs = settings.at("ramp_epochs")};

  for (const auto& expected : settings.at("steps")) {
    const int epoch = expected.at("epoch"), number = expected.at("step");
    const std::string prefix =
        "epoch" + std::to_string(epoch) + ".step" + std::to_string(number) + ".";
    SCOPED_TRACE(prefix);
    const double rate = learning_rate(schedule, epoch);
    EXPECT_NEAR(rate, expected.at("lr").get<double>(), 1e-15);
    const StepBatch batch{.labels = golden.tensors.at(prefix + "labels"),
                          .labelled = golden.tensors.at(prefix + "mask_labelled").to(at::kDouble),
                          .hard = {}};
    const LossTerms terms =
        step.run(trunk.run(golden.tensors.at(prefix + "images")), batch,
                 {.rate = at::scalar_tensor(rate, at::kDouble),
                  .hard_count = at::scalar_tensor(hard_count(schedule, epoch, images), at::kLong)});
    for (const auto& [name, term] : {std::pair{"sup", terms.sup},
                                     {"dapl", terms.dapl},
                                     {"entropy", terms.entropy},
                                     {"separation", terms.separation},
                                     {"contrastive_unsup", terms.unsup_con},
                                     {"contrastive_sup", terms.sup_con},
                                     {"total", terms.total}}) {
      const double value = expected.at(name);
      EXPECT_NEAR(term.item<double>(), value, kTolerance * std::max(1.0, std::abs(value))) << name;
    }
  }
  for (const auto& [name, tensor] : step.parameters().named()) {
    EXPECT_LT(deviation(tensor.detach(), golden.tensors.at("final." + name)), kTolerance) << name;
  }
}

}  // namespace
}  // namespace protogcd
