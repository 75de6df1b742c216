// muGCD against six steps written down by themselves: losses, gradients' work by SGD, and a teacher
// that follows. Its backbone is one matrix.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "protogcd/methods/registry.h"
#include "protogcd/nn/state_dict.h"
#include "protogcd/training/train_step.h"
#include "tests/support/golden.h"
#include "tests/support/no_sets.h"

namespace protogcd {
namespace {

constexpr double kTolerance = 1e-9;

double deviation_of(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual - expected).abs().max() / expected.abs().max()).item<double>();
}

class OneMatrix : public TrainedBlocks {
 public:
  explicit OneMatrix(at::Tensor matrix) : matrix_(std::move(matrix)) {}

  at::Tensor forward(const TrunkTokens& tokens) const override {
    return at::linear(tokens.class_token, matrix_);
  }
  std::map<std::string, at::Tensor> named_parameters() const override { return {{"W", matrix_}}; }
  std::unique_ptr<TrainedBlocks> copy() const override {
    return std::make_unique<OneMatrix>(matrix_.detach().clone());
  }

 private:
  at::Tensor matrix_;
};

std::unique_ptr<Method> method_of(const nlohmann::json& settings) {
  MethodChoice choice = find_method("mugcd");
  OptionTable table;
  choice->declare(table);
  EXPECT_FALSE(table.find("warmup_teacher_temp_epochs")
                   ->assign(std::vector<std::string>{"3"}, OptionSource::kFlag));
  const auto classes = settings.at("K").get<std::size_t>();
  return choice->make({.width = settings.at("D"),
                       .classes = std::vector<std::string>(classes),
                       .old_classes = settings.at("K_old"),
                       .epochs = 6,
                       .type = at::kDouble});
}

TEST(MuGcdGolden, SixStepsAndTheTeacherBehindThem) {
  const StateDict golden =
      load_state_dict(testing::golden_folder() / "baselines" / "mugcd.safetensors");
  const auto settings = testing::baselines_json().at("mugcd");
  const auto method = method_of(settings);
  method->parameters().begin()->second.copy_(golden.tensors.at("init.V"));
  OneMatrix blocks(golden.tensors.at("init.W").clone());
  SingleProcess alone;
  TrainStep step(blocks, *method, {.momentum = settings.at("momentum"), .weight_decay = 0}, alone);
  testing::NoSets none;
  const auto steps = std::ssize(settings.at("steps"));
  for (std::int64_t t = 0; t < steps; ++t) {
    SCOPED_TRACE(t);
    const auto& expected = settings.at("steps")[static_cast<std::size_t>(t)];
    const auto tensor = [&](const char* name) {
      return golden.tensors.at("step" + std::to_string(t) + "." + name);
    };
    EXPECT_NEAR(method->begin_epoch({.epoch = t, .images_per_step = 12, .sets = none})[0],
                expected.at("teacher_temp").get<double>(), 1e-15);
    EXPECT_NEAR(method->teacher()->momentum.at(t, steps), expected.at("omega").get<double>(),
                1e-12);
    step.set_time(t, steps);
    const at::Tensor labelled = tensor("mask_labelled").to(at::kDouble);
    std::vector<StepBatch> batches;
    for (const char* view : {"strong", "weak"}) {
      batches.push_back({.labels = tensor("labels"),
                         .labelled = labelled,
                         .tokens = {.normalised = {}, .class_token = tensor(view), .raw = {}}});
    }
    const StepLoss loss =
        step.run(batches, at::scalar_tensor(settings.at("lr").get<double>(), at::kDouble));
    const auto expect_near = [&](const at::Tensor& value, const char* name) {
      const double number = expected.at(name);
      EXPECT_NEAR(value.item<double>(), number, kTolerance * std::max(1.0, std::abs(number)))
          << name;
    };
    expect_near(loss.total, "total");
    expect_near(loss.reported[0], "sup");
    expect_near(loss.reported[1], "unsup");
    expect_near(loss.reported[2], "entropy");
    const auto& named = step.parameters().named();
    EXPECT_LT(deviation_of(named.at("0.W").grad(), tensor("grad.W")), kTolerance);
    EXPECT_LT(deviation_of(named.at("1.prototype_layer.weight_v").grad(), tensor("grad.V")),
              kTolerance);
  }
  const auto named = step.parameters().named(), teacher = step.teacher_state();
  const auto expect_final = [&](const at::Tensor& value, const char* name) {
    EXPECT_LT(deviation_of(value.detach(), golden.tensors.at(name)), kTolerance) << name;
  };
  expect_final(named.at("0.W"), "final.student.W");
  expect_final(named.at("1.prototype_layer.weight_v"), "final.student.V");
  expect_final(teacher.at("teacher.0.W"), "final.teacher.W");
  expect_final(teacher.at("teacher.1.prototype_layer.weight_v"), "final.teacher.V");
  // What is evaluated and kept is the teacher.
  expect_final(blocks.named_parameters().at("W"), "final.teacher.W");
  expect_final(method->outcome(none).prototypes.centres, "final.teacher.V");
}

TEST(MuGcdGolden, MomentumRisesAsWrittenDown) {
  const auto expected = testing::baselines_json().at("mugcd").at("omega_T200");
  for (const auto& [step, omega] : expected.items())
    EXPECT_NEAR(TeacherMomentum().at(std::stoi(step), 200), omega.get<double>(), 1e-12) << step;
}

}  // namespace
}  // namespace protogcd
