// Settings that the whole process shares are given back.
#include "protogcd/nn/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdlib>

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

}  // namespace
}  // namespace protogcd
