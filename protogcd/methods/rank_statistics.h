// Which images are alike by the places of their largest features (AutoNovel, Han et al., ICLR
// 2020), and the losses that are made of such pairs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "protogcd/methods/method.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

/// [B, D] -> [B, D]: 1 at the places of the `top` largest entries of each row, else 0; no graph.
at::Tensor rank_codes(const at::Tensor& features, std::int64_t top);

/// Mean over all ordered pairs (i, j) of rows that take part, i = j included, of -log P_ij where
/// their codes are equal and of -log(1 - P_ij) where not, with P_ij = <p2_i, p1_j>, one view each.
/// p1, p2 [B, K] predictions of views 1 and 2; codes [B, D] of view 1; part [B] 0 or 1.
at::Tensor pair_loss(const at::Tensor& p1, const at::Tensor& p2, const at::Tensor& codes,
                     const at::Tensor& part, Communicator& communicator);

/// Mean square difference of the two views' predictions, over all rows and classes.
at::Tensor consistency_loss(const at::Tensor& p1, const at::Tensor& p2, Communicator& communicator);

/// The three terms of a step with one head over old and new classes.
struct RankStatisticsLoss {
  at::Tensor cls;  ///< cross-entropy of labelled images' view 1, among the old classes alone
  at::Tensor pairs, consistency;
};
/// logits [2B, K]; codes [B, D] of view 1.
RankStatisticsLoss rank_statistics_loss(const at::Tensor& logits, const at::Tensor& codes,
                                        const StepBatch& batch, std::int64_t old_classes,
                                        Communicator& communicator);

/// exp(-5 (1 - min(epoch, length) / length)^2): how far a weight has risen.
double sigmoid_ramp(std::int64_t epoch, std::int64_t length);

}  // namespace protogcd
