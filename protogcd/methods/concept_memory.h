// DCCL's memory: a direction for each concept, which images are drawn to and which follows them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "protogcd/nn/communicator.h"

namespace protogcd {

struct ConceptMemoryOptions {
  double temperature = 0.05;
  double momentum = 0.1;  ///< what a direction keeps of itself as an image comes
};

class ConceptMemory {
 public:
  /// Room for so many concepts, none in use.
  ConceptMemory(std::int64_t room, std::int64_t width, const ConceptMemoryOptions& options,
                at::ScalarType type, at::Device device);

  /// The directions of the means of features [N, D], as they are, by concepts [N] (-1: none).
  void begin(const at::Tensor& features, const at::Tensor& concepts, std::int64_t count);
  std::int64_t count() const;
  std::map<std::string, at::Tensor> state() const;  ///< the tensors themselves

  /// Cross-entropy of the cosines with the image's own concept, mean over rows. features [2B, D],
  /// concepts [B]. Remembers them for `update`.
  at::Tensor loss(const at::Tensor& features, const at::Tensor& concepts,
                  Communicator& communicator);
  /// Row after row, all of view 1 and then of view 2: m = momentum m + (1 - momentum) z, of length
  /// 1. `is_on`: a boolean on the device; where false nothing changes.
  void update(const at::Tensor& is_on);

 private:
  const ConceptMemoryOptions options_;
  at::Tensor directions_;  ///< [C, D]
  at::Tensor offset_;      ///< [C], 0 where in use, else so low that nothing is drawn there
  at::Tensor rows_;        ///< [2N, D] of the last loss, of all processes
  at::Tensor concepts_;    ///< [2N]
};

}  // namespace protogcd
