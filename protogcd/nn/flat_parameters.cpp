#include "protogcd/nn/flat_parameters.h"

#include <ATen/ATen.h>

namespace protogcd {

FlatParameters::FlatParameters(const std::map<std::string, at::Tensor>& parameters)
    : named_(parameters) {
  std::int64_t count = 0;
  for (const bool matrices : {true, false}) {
    for (const auto& [name, tensor] : named_) {
      if ((tensor.dim() >= 2) != matrices) continue;
      places_[name] = {count, tensor.numel()};
      count += tensor.numel();
    }
  }
  values_ = at::empty({count}, named_.begin()->second.options().requires_grad(false));
  const auto values = views_of(values_);
  for (auto& [name, tensor] : named_) {
    values.at(name).copy_(tensor);
    tensor.set_data(values.at(name));
    tensor.requires_grad_(true);
  }
}

std::map<std::string, at::Tensor> FlatParameters::views_of(const at::Tensor& buffer) const {
  std::map<std::string, at::Tensor> views;
  for (const auto& [name, place] : places_) {
    views[name] = buffer.narrow(0, place.offset, place.count).view(named_.at(name).sizes());
  }
  return views;
}

void FlatParameters::forget_gradients() {
  for (auto& [name, tensor] : named_) tensor.mutable_grad() = at::Tensor();
}

at::Tensor FlatParameters::flat_gradient() {
  if (!gradient_.defined()) gradient_ = at::zeros_like(values_);
  for (auto& [name, view] : views_of(gradient_)) {
    at::Tensor& gradient = named_.at(name).mutable_grad();
    if (gradient.defined()) {
      view.copy_(gradient);
    } else {
      view.zero_();
    }
    gradient = view;
  }
  return gradient_;
}

}  // namespace protogcd
