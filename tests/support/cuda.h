// Tests that need a GPU: skipped where there is none, unless the environment says that there must
// be one (`make test-gpu`), and then failing.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>

#define PROTOGCD_NEEDS_CUDA()                                              \
  if (!at::hasCUDA()) {                                                    \
    if (std::getenv("PROTOGCD_REQUIRE_CUDA") != nullptr)                   \
      GTEST_FAIL() << "PROTOGCD_REQUIRE_CUDA is set, and there is no GPU"; \
    GTEST_SKIP() << "no CUDA device";                                      \
  }                                                                        \
  static_assert(true)
