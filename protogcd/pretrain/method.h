// What a network is pre-trained by. The loop (pretrainer.h) draws images, makes views, updates all
// parameters and keeps the state; a method turns views into a loss. Classification is one;
// a self-supervised method asks for several views and ignores the labels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "protogcd/pretrain/network.h"

namespace protogcd {

/// Rows v * B + i belong to view v of image i.
struct PretrainBatch {
  at::Tensor images;   ///< [V * B, 3, S, S], network input
  at::Tensor numbers;  ///< [V * B, R], for the network's drop path
  at::Tensor labels;   ///< [B] int64
};

/// Both on the device; the loss has a graph.
struct PretrainLoss {
  at::Tensor loss;      ///< []
  at::Tensor accuracy;  ///< []: share of the batch's images that are told right
};

class PretrainMethod {
 public:
  virtual ~PretrainMethod() = default;

  virtual std::string name() const = 0;
  /// All that its numbers depend on, in words: a run is resumed with the same alone.
  virtual std::string settings() const = 0;
  virtual std::int64_t views() const = 0;
  /// What is trained beside the network; it stays these tensors.
  virtual std::map<std::string, at::Tensor> named_parameters() const = 0;
  /// Reads nothing back from the device.
  virtual PretrainLoss loss(const PretrainNetwork& network, const PretrainBatch& batch) const = 0;
};

}  // namespace protogcd
