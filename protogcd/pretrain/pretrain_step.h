// One step of pre-training: loss, gradients, update.
#pragma once

#include "protogcd/nn/adamw.h"
#include "protogcd/nn/flat_parameters.h"
#include "protogcd/pretrain/method.h"

namespace protogcd {

class PretrainStep {
 public:
  /// Network and method must outlive the step; their tensors become the parameters.
  PretrainStep(PretrainNetwork& network, PretrainMethod& method, const AdamWOptions& adamw);

  /// The loss before the update, without its graph. `rate` is a scalar on the device; nothing is
  /// read back.
  PretrainLoss run(const PretrainBatch& batch, const at::Tensor& rate);

  FlatParameters& parameters() { return parameters_; }
  AdamW& optimiser() { return optimiser_; }

 private:
  PretrainNetwork& network_;
  PretrainMethod& method_;
  FlatParameters parameters_;
  AdamW optimiser_;
};

}  // namespace protogcd
