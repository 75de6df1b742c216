// Checkpoints: all that a stopped run needs to go on to the same bits. What is trained is kept, the
// frozen backbone is not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "protogcd/core/log.h"
#include "protogcd/nn/flat_parameters.h"
#include "protogcd/nn/sgd.h"
#include "protogcd/nn/state_file.h"

namespace protogcd {

/// Where training stands, beside the tensors.
struct TrainingState {
  std::int64_t epoch = 0, step = 0;  ///< the next one to do
  at::Tensor epoch_sums;             ///< [T] float64 on the CPU: of the epoch's steps so far
  double seconds = 0;                ///< that the run has taken, in all its processes
};

/// The tensors that a checkpoint holds.
struct CheckpointTensors {
  FlatParameters& parameters;
  Sgd& optimiser;
  std::map<std::string, at::Tensor> state;  ///< what the method keeps beside its parameters
};

/// Two files: `latest` and `previous`. A new checkpoint is complete on disk before the old one
/// moves; a kill at any moment leaves a good one.
class CheckpointStore {
 public:
  /// `identity` says what the numbers depend on, by name.
  CheckpointStore(std::filesystem::path folder, std::map<std::string, std::string> identity);

  void save(const CheckpointTensors& tensors, const TrainingState& state);
  /// The newest good checkpoint; nothing if there is none. A damaged one is named in a warning and
  /// the one before it is used. ModelFileError where all are damaged, UsageError (naming what
  /// differs) where a checkpoint belongs to another run.
  std::optional<TrainingState> load(CheckpointTensors& tensors, const Logger& log) const;

  std::filesystem::path latest() const { return folder_ / "latest.safetensors"; }
  std::filesystem::path previous() const { return folder_ / "previous.safetensors"; }

 private:
  /// Complete, and not yet named `latest`: what a kill between the two leaves.
  std::filesystem::path fresh() const { return folder_ / "new.safetensors"; }
  std::optional<TrainingState> load_file(const std::filesystem::path& file,
                                         CheckpointTensors& tensors) const;

  std::filesystem::path folder_;
  StateFileKind kind_;
};

}  // namespace protogcd
