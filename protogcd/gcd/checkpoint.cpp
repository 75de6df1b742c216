#include "protogcd/gcd/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "protogcd-checkpoint-1";

/// Of the tensors' names and bytes and of the notes beside them, in order.
std::string checksum(std::span<const TensorEntry> entries,
                     const std::map<std::string, std::string>& notes) {
  uLong sum = crc32(0, nullptr, 0);
  const auto add = [&](const void* bytes, std::size_t size) {
    sum = crc32_z(sum, static_cast<const Bytef*>(bytes), size);
  };
  for (const auto& [key, value] : notes) {
    if (key == "crc32") continue;
    add(key.data(), key.size());
    add(value.data(), value.size());
  }
  std::map<std::string, const TensorEntry*> by_name;
  for (const auto& entry : entries) by_name[entry.name] = &entry;
  for (const auto& [name, entry] : by_name) {
    add(name.data(), name.size());
    add(entry->bytes.data(), entry->bytes.size());
  }
  return fmt::format("{:08x}", sum);
}

std::int64_t number_in(const std::map<std::string, std::string>& notes, const std::string& key,
                       const fs::path& file) {
  const auto found = notes.find(key);
  const auto value = found == notes.end() ? std::nullopt : parse_integer(found->second);
  if (!value) throw ModelFileError(fmt::format("{}: no '{}' in it", file.string(), key));
  return *value;
}

/// UsageError naming what another run's checkpoint was begun with.
void check_identity(const std::map<std::string, std::string>& ours,
                    const std::map<std::string, std::string>& notes, const fs::path& file) {
  const auto found = notes.find("identity");
  std::map<std::string, std::string> theirs;
  try {
    if (found != notes.end()) theirs = nlohmann::json::parse(found->second);
  } catch (const nlohmann::json::exception&) {
    throw ModelFileError(fmt::format("{}: unreadable identity", file.string()));
  }
  for (const auto& [key, value] : ours) {
    const auto other = theirs.find(key);
    if (other != theirs.end() && other->second == value) continue;
    throw UsageError(fmt::format("--resume: the run was begun with another {} ({}, now {})", key,
                                 other == theirs.end() ? "none" : other->second, value),
                     "resume it as it was begun, or choose another --out");
  }
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, std::map<std::string, std::string> identity)
    : folder_(std::move(folder)), identity_(std::move(identity)) {}

void CheckpointStore::save(const FlatParameters& parameters, const Sgd& optimiser,
                           const TrainingState& state) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters.named()) tensors["value." + name] = tensor.detach();
  for (const auto& [name, tensor] : parameters.views_of(optimiser.momentum())) {
    tensors["momentum." + name] = tensor;
  }
  tensors["epoch_sums"] = state.epoch_sums;
  if (state.hard.defined()) tensors["hard"] = state.hard;
  std::vector<TensorEntry> entries;
  for (auto& [name, tensor] : tensors) {
    tensor = tensor.to(at::kCPU).contiguous();
    entries.push_back(entry_of(name, tensor));
  }
  std::map<std::string, std::string> notes = {{"format", kFormat},
                                              {"epoch", std::to_string(state.epoch)},
                                              {"step", std::to_string(state.step)},
                                              {"identity", nlohmann::json(identity_).dump()}};
  notes["crc32"] = checksum(entries, notes);
  create_folders(folder_);
  write_safetensors(fresh(), entries, notes);
  std::error_code error;
  if (fs::exists(latest())) fs::rename(latest(), previous(), error);
  if (!error) fs::rename(fresh(), latest(), error);
  if (error) throw FileError(fmt::format("{}: {}", latest().string(), error.message()));
}

std::optional<TrainingState> CheckpointStore::load_file(const fs::path& file,
                                                        FlatParameters& parameters,
                                                        Sgd& optimiser) const {
  if (!fs::exists(file)) return std::nullopt;
  const SafetensorsFile content(file);
  const auto& notes = content.metadata();
  const auto format = notes.find("format");
  if (format == notes.end() || format->second != kFormat) {
    throw ModelFileError(
        fmt::format("{}: not a checkpoint of this program's version ({})", file.string(), kFormat));
  }
  const auto sum = notes.find("crc32");
  if (sum == notes.end() || sum->second != checksum(content.entries(), notes)) {
    throw ModelFileError(fmt::format("{}: damaged, its checksum does not match", file.string()));
  }
  check_identity(identity_, notes, file);

  const at::NoGradGuard no_grad;
  const StateDict state = load_state_dict(file);
  std::vector<ExpectedTensor> expected;
  for (const auto& [name, tensor] : parameters.named()) {
    for (const char* kind : {"value.", "momentum."}) {
      expected.push_back({kind + name, tensor.sizes().vec()});
    }
  }
  check_tensors(state, expected);
  const auto momenta = parameters.views_of(optimiser.momentum());
  for (const auto& [name, tensor] : parameters.named()) {
    tensor.detach().copy_(state.tensors.at("value." + name));
    momenta.at(name).copy_(state.tensors.at("momentum." + name));
  }
  const at::Tensor *sums = state.find("epoch_sums"), *hard = state.find("hard");
  return TrainingState{.epoch = number_in(notes, "epoch", file),
                       .step = number_in(notes, "step", file),
                       .epoch_sums = sums ? sums->clone() : at::Tensor(),
                       .hard = hard ? hard->clone() : at::Tensor()};
}

std::optional<TrainingState> CheckpointStore::load(FlatParameters& parameters, Sgd& optimiser,
                                                   Logger& log) const {
  std::optional<ModelFileError> damage;
  for (const fs::path& file : {fresh(), latest(), previous()}) {
    try {
      auto state = load_file(file, parameters, optimiser);
      if (state) return state;
    } catch (const ModelFileError& error) {
      log.warning(error.what());
      damage = error;
    }
  }
  if (damage)
    throw ModelFileError(fmt::format("{}: no usable checkpoint", folder_.string()),
                         "start anew with --overwrite");
  return std::nullopt;
}

}  // namespace protogcd
