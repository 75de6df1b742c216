// ProtoGCD+'s pseudo-labels of a teacher against the released loss, given logits of two models.
#include <ATen/ATen.h>

#include "protogcd/methods/protogcd/objective.h"
#include "protogcd/methods/protogcd/ramp.h"
#include "tests/methods/method_golden.h"

namespace protogcd {
namespace {

void expect_taught_labels(at::ScalarType type, double tolerance) {
  const StateDict golden =
      load_state_dict(testing::golden_folder() / "baselines" / "protogcd_plus.safetensors");
  const auto settings = testing::baselines_json().at("protogcd_plus");
  const std::int64_t classes = settings.at("K"), images = settings.at("B");
  const Objective objective({}, classes, {}, type, at::kCPU);
  const at::Tensor teacher = golden.tensors.at("teacher_logits").to(type);
  const StepBatch batch{.labels = at::zeros({images}, at::kLong),
                        .labelled = at::zeros({images}, type)};
  SingleProcess alone;
  for (const auto& [epoch, expected] : settings.at("dapl").items()) {
    SCOPED_TRACE("epoch " + epoch);
    const at::Tensor student =
        golden.tensors.at("student_logits").to(type).clone().requires_grad_(true);
    const HeadOutput output{at::ones({2 * images, 3}, type), student, at::eye(classes, type)};
    const at::Tensor hard = at::scalar_tensor(
        hard_count({.epochs = settings.at("ramp_epochs")}, std::stoi(epoch), images), at::kLong);
    const LossTerms terms = objective(output, batch, {hard}, alone, teacher);
    EXPECT_NEAR(terms.dapl.item<double>(), expected.get<double>(),
                tolerance * expected.get<double>());
    terms.dapl.backward();
    EXPECT_LT(testing::deviation(student.grad(),
                                 golden.tensors.at("epoch" + epoch + ".grad.student_logits")),
              tolerance);
  }
}

TEST(ProtoGcdPlusGolden, PseudoLabelsOfATeacherInDouble) {
  expect_taught_labels(at::kDouble, 1e-9);
}

TEST(ProtoGcdPlusGolden, PseudoLabelsOfATeacherInFloat) {
  expect_taught_labels(at::kFloat, 1e-5);
}

}  // namespace
}  // namespace protogcd
