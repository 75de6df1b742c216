#include "protogcd/pretrain/pretrain_state.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace protogcd {
namespace {

/// Everything that a step changes, by name; the tensors themselves.
std::map<std::string, at::Tensor> all_tensors(const at::Tensor& sums,
                                              const FlatParameters& parameters,
                                              const AdamW& optimiser) {
  std::map<std::string, at::Tensor> tensors = {{"sums", sums}, {"count", optimiser.count()}};
  for (const auto& [kind, buffer] : {std::pair{"value.", &parameters.values()},
                                     {"first.", &optimiser.first()},
                                     {"second.", &optimiser.second()}}) {
    for (const auto& [name, tensor] : parameters.views_of(*buffer)) tensors[kind + name] = tensor;
  }
  return tensors;
}

}  // namespace

PretrainState::PretrainState(std::filesystem::path file,
                             std::map<std::string, std::string> identity)
    : file_(std::move(file)), kind_{"protogcd-pretrain-1", std::move(identity)} {}

void PretrainState::save(std::int64_t step, const at::Tensor& sums,
                         const FlatParameters& parameters, const AdamW& optimiser) const {
  write_state_file(file_, kind_, all_tensors(sums, parameters, optimiser),
                   {{"step", std::to_string(step)}});
}

std::int64_t PretrainState::load(at::Tensor& sums, FlatParameters& parameters,
                                 AdamW& optimiser) const {
  const at::NoGradGuard no_grad;
  const StateDict state = read_state_file(file_, kind_);
  const auto tensors = all_tensors(sums, parameters, optimiser);
  std::vector<ExpectedTensor> expected;
  for (const auto& [name, tensor] : tensors) expected.push_back({name, tensor.sizes().vec()});
  check_tensors(state, expected);
  for (const auto& [name, tensor] : tensors) tensor.copy_(state.tensors.at(name));
  return noted_number(state, "step");
}

}  // namespace protogcd
