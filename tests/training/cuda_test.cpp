// Training on CUDA against training on the CPU: the fused objective, a recorded step, and whole
// runs. Without a GPU these are skipped.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/function.h>

#include "protogcd/core/json.h"
#include "protogcd/methods/protogcd/objective.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/cuda.h"

namespace protogcd {
namespace {

using testing::json_of;
using testing::run_protogcd;
using testing::TinyRun;

class CudaTraining : public ::testing::Test {
 protected:
  void SetUp() override { PROTOGCD_NEEDS_CUDA(); }
  const at::Device gpu_{at::kCUDA, 0};
};

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  return ((actual.cpu().to(at::kDouble) - expected).abs().max() /
          expected.abs().max().clamp_min(1e-3))
      .item<double>();
}

constexpr std::int64_t kImages = 24, kWidth = 48, kProjection = 40;

struct Outputs {
  Outputs(std::int64_t classes, std::uint64_t seed) {
    at::manual_seed(seed);
    prototypes = unit_rows(at::randn({classes, kWidth}, at::kDouble));
    cosines = at::linear(unit_rows(at::randn({2 * kImages, kWidth}, at::kDouble)), prototypes);
    projections = at::randn({2 * kImages, kProjection}, at::kDouble);
  }

  HeadOutput on(at::Device device, at::ScalarType type) const {
    const auto leaf = [&](const at::Tensor& tensor) {
      return tensor.to(device, type, false, /*copy=*/true).requires_grad_(true);
    };
    return {leaf(projections), leaf(cosines), leaf(prototypes)};
  }

  at::Tensor prototypes, cosines, projections;
};

/// Terms and gradients of the fused kernels against the definition in float64.
void expect_fused_is_exact(const ObjectiveOptions& options, std::int64_t classes,
                           const at::Tensor& labelled, bool decided, std::vector<double> prior,
                           at::Device gpu) {
  const Outputs outputs(classes, 11);
  StepBatch batch{
      .labels = at::arange(kImages, at::kLong).remainder(std::min<std::int64_t>(classes, 5)),
      .labelled = labelled.to(at::kDouble)};
  const HardChoice hard{
      at::scalar_tensor(9, at::kLong),
      decided ? at::arange(kImages, at::kLong).remainder(3).eq(0).to(at::kDouble) : at::Tensor()};
  SingleProcess alone;
  const HeadOutput here = outputs.on(at::kCPU, at::kDouble);
  const LossTerms exact =
      Objective(options, classes, prior, at::kDouble, at::kCPU)(here, batch, hard, alone);
  exact.total.backward();

  const HeadOutput there = outputs.on(gpu, at::kFloat);
  const Objective objective(options, classes, prior, at::kFloat, gpu);
  const auto moved = [&](const at::Tensor& tensor, at::ScalarType type) {
    return tensor.defined() ? tensor.to(gpu, type) : tensor;
  };
  const LossTerms fused =
      objective(there, {moved(batch.labels, at::kLong), moved(batch.labelled, at::kFloat)},
                {hard.count.to(gpu), moved(hard.decided, at::kFloat)}, alone);
  ASSERT_THAT(fused.total.grad_fn()->name(), ::testing::HasSubstr("FusedTotal"));
  fused.total.backward();
  for (const auto member : {&LossTerms::total, &LossTerms::sup, &LossTerms::dapl,
                            &LossTerms::entropy, &LossTerms::separation, &LossTerms::unsup_con,
                            &LossTerms::sup_con, &LossTerms::hard_share, &LossTerms::marginal}) {
    EXPECT_LT(deviation((fused.*member).detach(), (exact.*member).detach()), 2e-5);
  }
  EXPECT_LT(deviation(there.cosines.grad(), here.cosines.grad()), 2e-5);
  EXPECT_LT(deviation(there.projections.grad(), here.projections.grad()), 2e-5);
  if (classes > 1) {
    EXPECT_LT(deviation(there.prototypes.grad(), here.prototypes.grad()), 2e-5);
  }
}

TEST_F(CudaTraining, TheFusedObjectiveIsTheDefinition) {
  const at::Tensor some = at::arange(kImages, at::kLong).remainder(2), none = at::zeros({kImages}),
                   all = at::ones({kImages});
  for (const ObjectiveOptions& options : {ObjectiveOptions{}, ObjectiveOptions::paper()}) {
    for (const std::int64_t classes : {1, 2, 10, 300}) {
      for (const at::Tensor& labelled : {some, none, all}) {
        SCOPED_TRACE(std::to_string(classes) + " classes");
        expect_fused_is_exact(options, classes, labelled, false, {}, gpu_);
      }
    }
  }
  expect_fused_is_exact({}, 10, some, /*decided=*/true, {}, gpu_);
  std::vector<double> prior(10, 0.05);
  prior[3] = 0.55;
  expect_fused_is_exact({}, 10, some, false, prior, gpu_);
  ObjectiveOptions ablated;
  ablated.weight_sup_con = ablated.weight_dapl = ablated.lambda_sep = 0;
  expect_fused_is_exact(ablated, 10, some, false, {}, gpu_);
  const ObjectiveOptions windowed{.marginal_scope = MarginalScope::kUnlabelled,
                                  .marginal_window = 10};
  for (const at::Tensor& labelled : {some, none, all})
    expect_fused_is_exact(windowed, 10, labelled, false, prior, gpu_);
}

TEST_F(CudaTraining, ARunGivesTheCpusPredictions) {
  const TinyRun tiny;
  const std::vector<std::vector<std::string>> kinds = {
      {"--views", "bank"},
      {"--views", "fresh"},
      {"--views", "bank", "--bank-refresh", "1"},
      {"--views", "bank", "--grad-from-block", "1"},
      {"--views", "fresh", "--preset", "paper"},
      {"--views", "bank", "--preset", "general"}};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    SCOPED_TRACE(kind);
    const std::string name = std::to_string(kind);
    std::vector<std::string> flags = kinds[kind];
    flags.insert(flags.end(), {"--dtype", "float64"});
    json_of(run_protogcd(tiny.train(name + "-cpu", flags)));
    flags.insert(flags.end(), {"--device", "cuda"});
    json_of(run_protogcd(tiny.train(name + "-gpu", flags)));
    const auto cpu = tiny.metrics(name + "-cpu"), gpu = tiny.metrics(name + "-gpu");
    ASSERT_EQ(cpu.size(), gpu.size());
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      EXPECT_NEAR(cpu[i].at("train").at("total").get<double>(),
                  gpu[i].at("train").at("total").get<double>(), 1e-6)
          << "epoch " << i;
      if (cpu[i].contains("unlabelled")) {
        EXPECT_EQ(cpu[i].at("unlabelled").at("all"), gpu[i].at("unlabelled").at("all"));
      }
    }
  }
}

TEST_F(CudaTraining, DeterministicRunsAreTheSameBytes) {
  const TinyRun tiny;
  for (const char* views : {"bank", "fresh"}) {
    const std::string name = views;
    for (const char* which : {"-1", "-2"}) {
      json_of(run_protogcd(tiny.train(name + which, {"--dtype", "bfloat16", "--views", views,
                                                     "--device", "cuda", "--deterministic"})));
    }
    tiny.expect_same(name + "-1", name + "-2");
  }
}

/// Where the bank lies changes no number.
TEST_F(CudaTraining, ABankOnTheHostGivesTheSameModel) {
  const TinyRun tiny;
  for (const char* home : {"device", "host", "file"}) {
    json_of(run_protogcd(tiny.train(home, {"--dtype", "bfloat16", "--views", "bank", "--bank-home",
                                           home, "--device", "cuda", "--deterministic"})));
  }
  tiny.expect_same("device", "host");
  tiny.expect_same("device", "file");
}

}  // namespace
}  // namespace protogcd
