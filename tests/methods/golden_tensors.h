// A golden file of a release, for tests that put their steps together themselves.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "protogcd/core/json.h"
#include "protogcd/nn/state_dict.h"
#include "tests/support/golden.h"

namespace protogcd::testing {

class GoldenTensors {
 public:
  explicit GoldenTensors(const std::string& name)
      : json(baselines_json().at(name)),
        file_(load_state_dict(golden_folder() / "baselines" / (name + ".safetensors"))) {}

  const at::Tensor& at(const std::string& name) const { return file_.tensors.at(name); }
  /// A copy that gradients are computed for.
  at::Tensor leaf(const std::string& name) const { return at(name).clone().requires_grad_(true); }

  const nlohmann::json json;

 private:
  StateDict file_;
};

/// The largest deviation, relative to the largest value.
inline double relative_deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  const double largest = expected.abs().max().item<double>();
  return (actual.to(at::kDouble) - expected).abs().max().item<double>() / largest;
}

inline void expect_number(const at::Tensor& value, const nlohmann::json& expected,
                          const std::string& name) {
  const double number = expected;
  EXPECT_NEAR(value.item<double>(), number, 1e-9 * std::max(1.0, std::abs(number))) << name;
}

}  // namespace protogcd::testing
