// One step of training: tokens to features, loss, gradients, update.
#pragma once

#include <functional>

#include "protogcd/engine/buffer_pool.h"
#include "protogcd/engine/trained_blocks.h"
#include "protogcd/methods/communicator.h"
#include "protogcd/methods/protogcd/objective.h"
#include "protogcd/nn/flat_parameters.h"
#include "protogcd/nn/head.h"
#include "protogcd/nn/sgd.h"

namespace protogcd {

/// What changes with the epoch, as scalars on the device: one captured step serves all epochs.
struct StepSchedule {
  at::Tensor rate;        ///< in the parameters' type
  at::Tensor hard_count;  ///< int64
};

class TrainStep {
 public:
  /// All references must outlive the step.
  TrainStep(TrainedBlocks& blocks, Head& head, const Objective& objective, const SgdOptions& sgd,
            Communicator& communicator);

  /// tokens of 2B rows: view 1 of every image, then view 2. Returns the losses before the update.
  /// Nothing is read back from the device, and after the first steps no memory is taken for tensors
  /// (on CUDA libtorch sees to that).
  LossTerms run(const TrunkTokens& tokens, const StepBatch& batch, const StepSchedule& schedule);

  /// A step with another loss, a scalar: for benchmarks and tests. Returns it.
  at::Tensor run_with(const TrunkTokens& tokens,
                      const std::function<at::Tensor(const HeadOutput&)>& loss,
                      const at::Tensor& rate);

  FlatParameters& parameters() { return parameters_; }
  Sgd& optimiser() { return optimiser_; }

 private:
  /// `backward` makes the gradients of what the head puts out, and takes them back through it.
  void step(const TrunkTokens& tokens, const at::Tensor& rate,
            const std::function<void(const HeadOutput&)>& backward);

  TrainedBlocks& blocks_;
  Head& head_;
  const Objective& objective_;
  Communicator& communicator_;
  FlatParameters parameters_;
  Sgd optimiser_;
  BufferPool buffers_{1024};  ///< a step makes a few hundred tensors
};

/// Blocks and head under the names of the reference's checkpoints: "0.blocks.11.norm1.weight", ...,
/// "1.mlp.0.weight".
std::map<std::string, at::Tensor> trained_parameters(const TrainedBlocks& blocks, const Head& head);

}  // namespace protogcd
