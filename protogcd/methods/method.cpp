#include "protogcd/methods/method.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "protogcd/methods/head_options.h"
#include "protogcd/nn/head.h"

namespace protogcd {

double TeacherMomentum::at(std::int64_t step, std::int64_t steps) const {
  const double angle = std::numbers::pi * static_cast<double>(step) / static_cast<double>(steps);
  return last - (1 - base) * (std::cos(angle) + 1) / 2;
}

std::optional<FirstStage> MethodOptions::first_stage() const {
  return std::nullopt;
}

bool TakenHead::has_every_class() const {
  return prototypes.defined() && prototypes.ne(0).any(1).all().item<bool>();
}

bool TakenHead::keeps_classes(std::int64_t old_classes) const {
  if (has_every_class()) return true;
  return prototypes.defined() && prototypes.slice(0, old_classes).ne(0).any().item<bool>();
}

std::vector<std::string> TakenHead::give_to(const Method& method) const {
  const at::NoGradGuard no_grad;
  const auto own = method.parameters();
  const std::vector<std::string> of_classes = method.of_classes();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : own) {
    const auto found = parameters.find(name);
    if (found == parameters.end() || found->second.sizes() != tensor.sizes() ||
        std::ranges::find(of_classes, name) != of_classes.end())
      continue;
    tensor.copy_(found->second);
    names.push_back(name);
  }
  if (prototypes.defined() && !of_classes.empty()) {
    const auto found = own.find(of_classes.front());
    point_at(found != own.end() ? found->second : method.state().at(of_classes.front()),
             prototypes);
  }
  return names;
}

EpochScalar::EpochScalar(at::ScalarType type, at::Device device)
    : value_(at::zeros({}, at::device(device).dtype(type))) {}

at::Tensor unit_features(SetFeatures& sets, SampleSet set) {
  std::vector<at::Tensor> parts = {at::empty({0})};  // which `cat` passes over
  sets.for_each(set, [&](const at::Tensor& features) {
    parts.push_back(unit_rows(features).to(at::kCPU, at::kFloat));
  });
  return at::cat(parts);
}

}  // namespace protogcd
