// Settings that the whole process shares are given back.
#include "protogcd/nn/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/cuda.h"

namespace protogcd {
namespace {

TEST(ComputeThreads, AreGivenBack) {
  const int before = at::get_num_threads();
  {
    const ComputeThreads threads(3);
    EXPECT_EQ(at::get_num_threads(), 3);
    {
      const ComputeThreads one(1);
      EXPECT_EQ(at::get_num_threads(), 1);
    }
    EXPECT_EQ(at::get_num_threads(), 3);
  }
  EXPECT_EQ(at::get_num_threads(), before);
}

TEST(DeterministicMode, IsGivenBack) {
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  at::Context& torch = at::globalContext();
  const bool cudnn = torch.deterministicCuDNN();
  for (const bool strict : {false, true}) {
    torch.setDeterministicAlgorithms(strict, /*warn_only=*/strict);
    {
      const DeterministicMode mode(true);
      EXPECT_TRUE(torch.deterministicAlgorithms());
      EXPECT_FALSE(torch.deterministicAlgorithmsWarnOnly());
      EXPECT_TRUE(torch.deterministicCuDNN());
      EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
    }
    EXPECT_EQ(torch.deterministicAlgorithms(), strict);
    EXPECT_EQ(torch.deterministicAlgorithmsWarnOnly(), strict);
    EXPECT_EQ(torch.deterministicCuDNN(), cudnn);
    EXPECT_EQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), nullptr);
  }
  torch.setDeterministicAlgorithms(false, false);
}

TEST(DeterministicMode, WhatTheUserSetStays) {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
  {
    const DeterministicMode mode(true);
    EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":16:8");
  }
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":16:8");
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");
  const DeterministicMode unwanted(false);
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
}

TEST(Tf32Products, AreGivenBack) {
  const bool before = at::globalContext().allowTF32CuBLAS();
  { const Tf32Products tf32(true); }
  EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), before);
}

TEST(ComputeSettings, Tf32ChangesNothingOnACpu) {
  const bool before = at::globalContext().allowTF32CuBLAS();
  const ComputeSettings settings({.device = "cpu", .dtype = "tf32", .threads = 1});
  EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), before);
}

TEST(ComputeSettings, Tf32IsOnWhereItIsAskedForAndOffWithFloat32) {
  PROTOGCD_NEEDS_CUDA();
  const at::Tensor rows = at::randn({512, 512}, at::device(at::kCUDA).dtype(at::kFloat));
  const at::Tensor exact = rows.to(at::kDouble).mm(rows.to(at::kDouble));
  const auto error = [&](const char* dtype) {
    const ComputeSettings settings({.device = "cuda", .dtype = dtype, .threads = 1});
    EXPECT_EQ(at::globalContext().allowTF32CuBLAS(), std::string(dtype) == "tf32") << dtype;
    return ((rows.mm(rows) - exact).norm() / exact.norm()).item<double>();
  };
  EXPECT_LT(error("float32"), 1e-5);
  EXPECT_LT(error("auto"), 1e-5);
  EXPECT_GT(error("tf32"), 1e-5) << "operands of 10 bits";
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
}

}  // namespace
}  // namespace protogcd
