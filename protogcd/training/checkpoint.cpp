#include "protogcd/training/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "protogcd-checkpoint-3";

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, std::map<std::string, std::string> identity)
    : folder_(std::move(folder)), kind_{kFormat, std::move(identity), /*names_options=*/true} {}

void CheckpointStore::save(const CheckpointTensors& kept, const TrainingState& state) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : kept.parameters.named()) tensors["value." + name] = tensor;
  for (const auto& [name, tensor] : kept.parameters.views_of(kept.optimiser.momentum())) {
    tensors["momentum." + name] = tensor;
  }
  for (const auto& [name, tensor] : kept.state) tensors["state." + name] = tensor;
  tensors["epoch_sums"] = state.epoch_sums;
  create_folders(folder_);
  write_state_file(fresh(), kind_, tensors,
                   {{"epoch", std::to_string(state.epoch)},
                    {"step", std::to_string(state.step)},
                    {"milliseconds", std::to_string(std::llround(1000 * state.seconds))}});
  std::error_code error;
  if (fs::exists(latest())) fs::rename(latest(), previous(), error);
  if (!error) fs::rename(fresh(), latest(), error);
  if (error) throw FileError(fmt::format("{}: {}", latest().string(), error.message()));
}

std::optional<TrainingState> CheckpointStore::load_file(const fs::path& file,
                                                        CheckpointTensors& kept) const {
  if (!fs::exists(file)) return std::nullopt;
  const at::NoGradGuard no_grad;
  const StateDict state = read_state_file(file, kind_);
  std::map<std::string, at::Tensor> places;
  for (const auto& [name, tensor] : kept.parameters.named())
    places["value." + name] = tensor.detach();
  for (const auto& [name, tensor] : kept.parameters.views_of(kept.optimiser.momentum()))
    places["momentum." + name] = tensor;
  for (const auto& [name, tensor] : kept.state) places["state." + name] = tensor;
  std::vector<ExpectedTensor> expected;
  for (const auto& [name, tensor] : places) expected.push_back({name, tensor.sizes().vec()});
  check_tensors(state, expected);
  for (const auto& [name, tensor] : places) tensor.copy_(state.tensors.at(name));
  const at::Tensor* sums = state.find("epoch_sums");
  return TrainingState{.epoch = noted_number(state, "epoch"),
                       .step = noted_number(state, "step"),
                       .epoch_sums = sums ? sums->clone() : at::Tensor(),
                       .seconds = static_cast<double>(noted_number(state, "milliseconds")) / 1000};
}

std::optional<TrainingState> CheckpointStore::load(CheckpointTensors& tensors,
                                                   const Logger& log) const {
  std::optional<ModelFileError> damage;
  for (const fs::path& file : {fresh(), latest(), previous()}) {
    try {
      auto state = load_file(file, tensors);
      if (state) return state;
    } catch (const ModelFileError& error) {
      log.warning(error.marked());
      damage = error;
    }
  }
  if (damage)
    throw ModelFileError(fmt::format("{}: no usable checkpoint", folder_.string()),
                         fmt::format("start anew with {}", option_name("overwrite")));
  return std::nullopt;
}

}  // namespace protogcd
