// Soft assignments that use all classes equally (Sinkhorn and Knopp's iteration, as UNO has it).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "protogcd/nn/communicator.h"

namespace protogcd {

struct SinkhornOptions {
  double epsilon = 0.05;  ///< scores are divided by it: the smaller, the harder the assignments
  std::int64_t rounds = 3;
};

/// scores [B, K] -> [B, K]: rows of exp(scores / epsilon) that take part (part [B] 0 or 1), scaled
/// so that all columns have the same sum over the rows of all processes, then each row the sum 1,
/// `rounds` times. Rows that take no part are 0. No graph.
at::Tensor sinkhorn(const at::Tensor& scores, const at::Tensor& part,
                    const SinkhornOptions& options, Communicator& communicator);

}  // namespace protogcd
