// Every term of the objective, and the gradients of the whole, against the released code.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "protogcd/methods/protogcd/objective.h"
#include "protogcd/methods/protogcd/ramp.h"
#include "protogcd/nn/state_dict.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual.to(at::kDouble) - expected).abs().max() / expected.abs().max()).item<double>();
}

void expect_scalar(const at::Tensor& actual, double expected, double tolerance) {
  EXPECT_NEAR(actual.item<double>(), expected, tolerance * std::max(1.0, std::abs(expected)));
}

void expect_losses_and_gradients(at::ScalarType type, double tolerance) {
  const StateDict golden = load_state_dict(testing::golden_folder() / "losses.safetensors");
  const auto settings = testing::golden_json().at("losses");
  const std::int64_t classes = settings.at("K"), images = settings.at("B");
  Head head({.width = settings.at("in_dim"),
             .classes = classes,
             .hidden = settings.at("hidden_dim"),
             .projection = settings.at("bottleneck_dim")},
            0, type, at::kCPU);
  for (const auto& [name, tensor] : head.named_parameters()) {
    tensor.copy_(golden.tensors.at("head." + name));
    tensor.requires_grad_(true);
  }
  const Objective objective({}, classes, {}, type, at::kCPU);
  const StepBatch batch{.labels = golden.tensors.at("labels"),
                        .labelled = golden.tensors.at("mask_labelled").to(type)};
  SingleProcess alone;

  for (const auto& [epoch, expected] : settings.at("epochs").items()) {
    SCOPED_TRACE("epoch " + epoch);
    const at::Tensor x = golden.tensors.at("x").to(type).clone().requires_grad_(true);
    for (const auto& [name, tensor] : head.named_parameters()) tensor.mutable_grad().reset();
    const HeadOutput output = head.forward(x);
    EXPECT_LT(deviation(output.projections.detach(), golden.tensors.at("proj")), tolerance);
    EXPECT_LT(deviation(output.cosines.detach(), golden.tensors.at("logits")), tolerance);
    EXPECT_LT(deviation(output.prototypes.detach(), golden.tensors.at("prototypes")), tolerance);

    const at::Tensor hard = at::scalar_tensor(hard_count({}, std::stoi(epoch), images), at::kLong);
    const LossTerms terms = objective(output, batch, {hard}, alone);
    expect_scalar(terms.sup, expected.at("sup"), tolerance);
    expect_scalar(terms.dapl, expected.at("dapl"), tolerance);
    expect_scalar(terms.entropy, expected.at("entropy"), tolerance);
    expect_scalar(terms.separation, expected.at("separation"), tolerance);
    expect_scalar(terms.unsup_con, expected.at("contrastive_unsup"), tolerance);
    expect_scalar(terms.sup_con, expected.at("contrastive_sup"), tolerance);
    expect_scalar(terms.total, expected.at("total"), tolerance);

    terms.total.backward();
    const auto gradient = [&](const std::string& name) -> const at::Tensor& {
      return golden.tensors.at("epoch" + epoch + ".grad." + name);
    };
    EXPECT_LT(deviation(x.grad(), gradient("x")), tolerance);
    for (const auto& [name, tensor] : head.named_parameters()) {
      EXPECT_LT(deviation(tensor.grad(), gradient("head." + name)), tolerance) << name;
    }
  }
}

TEST(ObjectiveGolden, LossesAndGradientsInDouble) {
  expect_losses_and_gradients(at::kDouble, 1e-9);
}

TEST(ObjectiveGolden, LossesAndGradientsInFloat) {
  expect_losses_and_gradients(at::kFloat, 1e-5);
}

}  // namespace
}  // namespace protogcd
