// One step of training: tokens to features, the method's loss, gradients, update.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "protogcd/engine/buffer_pool.h"
#include "protogcd/engine/trained_blocks.h"
#include "protogcd/methods/communicator.h"
#include "protogcd/methods/method.h"
#include "protogcd/nn/flat_parameters.h"
#include "protogcd/nn/sgd.h"

namespace protogcd {

class TrainStep {
 public:
  /// All references must outlive the step.
  TrainStep(TrainedBlocks& blocks, Method& method, const SgdOptions& sgd,
            Communicator& communicator);

  /// `batches`: one for each of the method's streams, with tokens of 2B rows; their features are
  /// filled in. Returns what was before the update, without a graph. `rate`: a scalar on the
  /// device. Nothing is read back, and after the first steps no memory is taken for tensors (on
  /// CUDA libtorch sees to that).
  StepLoss run(std::vector<StepBatch>& batches, const at::Tensor& rate);

  /// A step with another loss, a scalar: for benchmarks and tests. Returns it.
  at::Tensor run_with(const TrunkTokens& tokens,
                      const std::function<at::Tensor(const at::Tensor& features)>& loss,
                      const at::Tensor& rate);

  FlatParameters& parameters() { return parameters_; }
  Sgd& optimiser() { return optimiser_; }

 private:
  void update(const at::Tensor& rate);

  TrainedBlocks& blocks_;
  Method& method_;
  Communicator& communicator_;
  FlatParameters parameters_;
  Sgd optimiser_;
  BufferPool buffers_{1024};  ///< a step makes a few hundred tensors
};

/// Blocks and method under the names of the reference's checkpoints: "0.blocks.11.norm1.weight",
/// ..., "1.mlp.0.weight".
std::map<std::string, at::Tensor> trained_parameters(const TrainedBlocks& blocks,
                                                     const Method& method);

}  // namespace protogcd
