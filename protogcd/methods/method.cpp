#include "protogcd/methods/method.h"

#include <ATen/ATen.h>

#include "protogcd/nn/head.h"

namespace protogcd {

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
