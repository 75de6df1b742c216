// ORCA's pairs: whom each image of a batch is compared with, and the loss that is made of them.
#pragma once

#include <ATen/core/Tensor.h>

#include "protogcd/methods/method.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

/// For each of this process's rows [B, D] of unit length (view 1, no graph): the row of all
/// processes' rows that is nearest, not itself unless it is alone. [B] int64
at::Tensor nearest_partners(const at::Tensor& rows, Communicator& communicator);

/// For each labelled image: another labelled one of its class, by chance; itself where there is
/// none. Chance is a function of places in the batch and `step` (int64 [], on the device) alone, so
/// that a recorded step draws anew each time and a resumed run draws the same. [B] int64
at::Tensor labelled_partners(const StepBatch& batch, const at::Tensor& step,
                             Communicator& communicator);

struct OrcaLoss {
  at::Tensor cls;      ///< labelled images' view 1, the true class's logit raised by the margin
  at::Tensor pairs;    ///< -log of the product of an image's view 1 and its partner's view 2
  at::Tensor entropy;  ///< of the mean prediction of view 1
};
/// logits [2B, K]; partners [B] among the rows of all processes; margin: a scalar in logits.
OrcaLoss orca_loss(const at::Tensor& logits, const at::Tensor& partners, const StepBatch& batch,
                   const at::Tensor& margin, Communicator& communicator);

}  // namespace protogcd
