// A backbone that turns batches into features, one batch ahead of the one that is waited for: on
// CUDA, the way back of a batch overlaps the computing of the next.
//
//   auto last = embedder.start(images);                 // returns at once on CUDA
//   while (...) { auto next = embedder.start(more); use(embedder.wait(last)); last =
//   std::move(next); }
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <memory>
#include <optional>

#include "protogcd/engine/placement.h"
#include "protogcd/engine/trained_blocks.h"
#include "protogcd/nn/backbone.h"

namespace protogcd {

class Embedder {
 public:
  Embedder(Backbone backbone, const Placement& placement, bool with_tokens);

  /// On the CPU and contiguous, float32 (float64 of a float64 model).
  struct Result {
    at::Tensor features;  ///< [B, D]
    at::Tensor tokens;    ///< [B, T, D], undefined unless asked for
  };
  /// A result that may still be in the making.
  class Pending {
    friend class Embedder;
    Result result_;
    std::optional<c10::Event> ready_;
  };

  /// images [B, 3, S, S] float32, on the device.
  Pending start(const at::Tensor& images) const;
  static Result wait(const Pending& pending);

  at::ScalarType type() const { return exact_; }

 private:
  at::Tensor home(const at::Tensor& values) const;

  at::Device device_;
  at::ScalarType exact_;  ///< of what is handed out
  std::optional<Trunk> trunk_;
  std::unique_ptr<TrainedBlocks> blocks_;
  std::optional<Vit> plain_;
};

}  // namespace protogcd
