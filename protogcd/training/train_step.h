// One step of training: tokens to features, the method's loss, gradients, update.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/engine/buffer_pool.h"
#include "protogcd/engine/trained_blocks.h"
#include "protogcd/methods/method.h"
#include "protogcd/nn/communicator.h"
#include "protogcd/nn/flat_parameters.h"
#include "protogcd/nn/sgd.h"

namespace protogcd {

class TrainStep {
 public:
  /// All references must outlive the step. `blocks` are what evaluations look at: those that are
  /// trained, or where the method has a teacher, the teacher's; the trained ones are then a copy.
  TrainStep(TrainedBlocks& blocks, Method& method, const SgdOptions& sgd,
            Communicator& communicator);

  /// Says where in the training the next step stands: step `step` of `steps`, from 0. Outside of
  /// what is recorded; does nothing without a teacher.
  void set_time(std::int64_t step, std::int64_t steps);
  /// `batches`: one for each of the method's streams, with their rows' tokens; features are filled
  /// in. Returns what was before the update, without a graph. `rate`: a scalar on the
  /// device. Nothing is read back, and after the first steps no memory is taken for tensors (on
  /// CUDA libtorch sees to that).
  StepLoss run(std::vector<StepBatch>& batches, const at::Tensor& rate);

  /// A step with another loss, a scalar: for benchmarks and tests. Returns it.
  at::Tensor run_with(const TrunkTokens& tokens,
                      const std::function<at::Tensor(const at::Tensor& features)>& loss,
                      const at::Tensor& rate);

  FlatParameters& parameters() { return parameters_; }
  Sgd& optimiser() { return optimiser_; }
  /// What a checkpoint keeps of the teacher; empty without one.
  std::map<std::string, at::Tensor> teacher_state() const;

 private:
  /// The model that follows the trained one.
  struct Following {
    TrainedBlocks& blocks;
    TeacherMomentum momentum;
    std::map<std::string, at::Tensor> named;  ///< by the names of `parameters_`
    at::Tensor values;                        ///< [P], all of them, in the order of `parameters_`
    EpochScalar change;                       ///< of the step: 1 - momentum
  };

  std::optional<Following> make_teacher(TrainedBlocks& blocks) const;
  void compute_features(std::vector<StepBatch>& batches) const;
  void update(const at::Tensor& rate);
  void follow();

  const std::unique_ptr<TrainedBlocks> copy_;  ///< what is trained, where there is a teacher
  TrainedBlocks& blocks_;                      ///< what is trained
  Method& method_;
  const std::vector<bool> for_teacher_;  ///< of each stream
  Communicator& communicator_;
  FlatParameters parameters_;
  Sgd optimiser_;
  std::optional<Following> teacher_;
  BufferPool buffers_{1024};  ///< a step makes a few hundred tensors
};

/// Blocks and method under the names of the reference's checkpoints: "0.blocks.11.norm1.weight",
/// ..., "1.mlp.0.weight".
std::map<std::string, at::Tensor> trained_parameters(const TrainedBlocks& blocks,
                                                     const Method& method);

}  // namespace protogcd
