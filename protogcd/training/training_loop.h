// Epoch after epoch: steps, checkpoints, metrics. What is trained is a method's business; how good
// it is, the caller's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "protogcd/core/context.h"
#include "protogcd/engine/trained_blocks.h"
#include "protogcd/methods/learning_rate.h"
#include "protogcd/methods/method.h"
#include "protogcd/nn/sgd.h"
#include "protogcd/run/run_folder.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

struct LoopOptions {
  ScheduleOptions schedule;
  SgdOptions sgd;
  std::int64_t eval_every = 5;     ///< epochs between evaluations; the last epoch always has one
  double checkpoint_seconds = 60;  ///< at least so long between checkpoints; 0: after every step
};

class TrainingLoop {
 public:
  /// All references must outlive it. `identity`: what the numbers depend on, by name; a run goes on
  /// only where it is the same.
  TrainingLoop(const RunFolder& folder, TrainingMaterial& material, TrainedBlocks& blocks,
               Method& method, const LoopOptions& options,
               std::map<std::string, std::string> identity, const Context& context,
               const TrainingPlan& plan = {});
  ~TrainingLoop();

  /// Adds to an epoch's line of metrics, and returns words for people.
  using Evaluate = std::function<std::string(nlohmann::json& line)>;

  /// Trains from the beginning, or with `resume` from the newest checkpoint. Writes a line of
  /// metrics and TensorBoard scalars for every epoch. Asked to stop, it writes a checkpoint and
  /// throws InterruptedError. TrainingError where training diverges. `started`: when this process
  /// began with the run. Returns the seconds that the processes before it took.
  double run(bool resume, std::chrono::steady_clock::time_point started, const Evaluate& evaluate);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace protogcd
