// Holds a method to the numbers that its public release gave: the terms of a step's loss and the
// gradients by features and parameters. Goldens lie in tests/golden/baselines, or below the folder
// in PROTOGCD_GOLDEN.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "protogcd/core/json.h"
#include "protogcd/methods/registry.h"
#include "protogcd/nn/state_dict.h"
#include "tests/support/cuda.h"
#include "tests/support/golden.h"
#include "tests/support/no_sets.h"

namespace protogcd::testing {

/// What a golden file of a head on given features says, and under which names.
struct MethodGolden {
  std::string method;                                  ///< its file is <method>.safetensors
  std::map<std::string, std::string> terms;            ///< reported name -> name in the JSON
  std::map<std::string, std::string> parameters = {};  ///< our name -> the release's, where another
  /// Further options, by key.
  std::map<std::string, std::string> options = {};
};

inline double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual.cpu().to(at::kDouble) - expected).abs().max() / expected.abs().max())
      .item<double>();
}

inline void expect_golden_steps(const MethodGolden& golden, at::ScalarType type, at::Device device,
                                double tolerance) {
  const StateDict tensors =
      load_state_dict(golden_folder() / "baselines" / (golden.method + ".safetensors"));
  const auto settings = baselines_json().at(golden.method);
  MethodChoice choice = find_method(golden.method);
  OptionTable table;
  choice->declare(table);
  std::map<std::string, std::string> options = golden.options;
  options["head_hidden"] = settings.at("hidden_dim").dump();
  options["projection"] = settings.at("bottleneck_dim").dump();
  for (const auto& [key, value] : options) {
    ASSERT_NE(table.find(key), nullptr) << key;
    ASSERT_FALSE(table.find(key)->assign(std::vector<std::string>{value}, OptionSource::kFlag));
  }
  const std::int64_t classes = settings.at("K"), images = settings.at("B");
  const auto method =
      choice->make({.width = settings.at("in_dim"),
                    .classes = std::vector<std::string>(static_cast<std::size_t>(classes)),
                    .old_classes = settings.at("K_old"),
                    .epochs = 200,
                    .type = type,
                    .device = device});
  const auto parameters = method->parameters();
  const auto released = [&](const std::string& name) {
    const auto found = golden.parameters.find(name);
    return found == golden.parameters.end() ? name : found->second;
  };
  for (const auto& [name, tensor] : parameters) {
    tensor.copy_(tensors.tensors.at("head." + released(name)));
    tensor.requires_grad_(true);
  }
  NoSets none;
  SingleProcess alone;
  int gradients = 0;
  for (const auto& [epoch, expected] : settings.at("epochs").items()) {
    SCOPED_TRACE("epoch " + epoch);
    const at::Tensor x =
        tensors.tensors.at("x").to(device, type, false, /*copy=*/true).requires_grad_(true);
    for (const auto& [name, tensor] : parameters) tensor.mutable_grad().reset();
    method->begin_epoch({.epoch = std::stoi(epoch), .images_per_step = images, .sets = none});
    const StepLoss loss =
        method->loss({{.labels = tensors.tensors.at("labels").to(device),
                       .labelled = tensors.tensors.at("mask_labelled").to(device, type),
                       .features = x}},
                     alone);
    const auto expect_near = [&](const at::Tensor& value, const std::string& name) {
      const double number = expected.at(name);
      EXPECT_NEAR(value.item<double>(), number, tolerance * std::max(1.0, std::abs(number)))
          << name;
    };
    expect_near(loss.total, "total");
    std::size_t place = 0, compared = 0;
    for (const ReportedValue& value : method->reported()) {
      if (value.kind == ReportedKind::kSchedule) continue;
      const auto term = golden.terms.find(value.name);
      if (term != golden.terms.end()) {
        expect_near(loss.reported[place], term->second);
        ++compared;
      }
      ++place;
    }
    EXPECT_EQ(compared, golden.terms.size());
    const std::string prefix = "epoch" + epoch + ".grad.";
    if (tensors.find(prefix + "x") == nullptr) continue;
    loss.total.backward();
    EXPECT_LT(deviation(x.grad(), tensors.tensors.at(prefix + "x")), tolerance);
    for (const auto& [name, tensor] : parameters) {
      EXPECT_LT(deviation(tensor.grad(), tensors.tensors.at(prefix + "head." + released(name))),
                tolerance)
          << name;
    }
    ++gradients;
  }
  EXPECT_GT(gradients, 0);
}

}  // namespace protogcd::testing
