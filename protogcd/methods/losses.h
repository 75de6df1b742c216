// Terms that several methods' losses are made of; numbers are the ProtoGCD paper's equations. Rows:
// a batch of B images has 2B rows, row i is view 1 of image i and row B + i its view 2.
//
// Shapes never depend on the data: who is labelled is a weight of 0 or 1, so that a step neither
// allocates by content nor reads anything back. With several processes, each term is this process's
// share: the shares add up to the whole.
#pragma once

#include <ATen/core/Tensor.h>

#include "protogcd/methods/method.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

/// [B] -> [2B], for both views.
at::Tensor both_views(const at::Tensor& images);

/// Eq. 16: cross-entropy with the labels. log_p [2B, K], or [B, K] of one view.
at::Tensor supervised_loss(const at::Tensor& log_p, const StepBatch& batch,
                           Communicator& communicator);
/// Mean prediction over the rows of all processes, [2B, K] -> [K].
at::Tensor mean_prediction(const at::Tensor& log_p, Communicator& communicator);
/// The same, each row with a weight [2B]; 0 where all weights are.
at::Tensor mean_prediction(const at::Tensor& log_p, const at::Tensor& weights,
                           Communicator& communicator);
/// Eq. 13: sum of p log p of the mean prediction p [K], relative to a prior: KL(p || prior).
at::Tensor entropy_loss(const at::Tensor& marginal, const at::Tensor& log_prior);
/// The same slope for a mean prediction of one batch, taken where a mean over more of them stands:
/// sum of p (log running - log prior), with a `running` that has no gradient. All [K].
at::Tensor entropy_loss(const at::Tensor& marginal, const at::Tensor& running,
                        const at::Tensor& log_prior);
/// Eq. 14: log of the mean exp(mu_i . mu_j / tau) over the other prototypes, mean over prototypes.
/// One prototype has no others: 0.
at::Tensor separation_loss(const at::Tensor& prototypes, double tau);
/// What contrastive terms compare: the cosines of rows. Projections [2B, P] as they are; or those
/// of a further linear layer W [Q, P] that is too wide to be computed, by G = W^T W [P, P]: the
/// cosine of W a and W b is a^T G b / sqrt(a^T G a  b^T G b). Stacked, with one dimension more in
/// front here and in labels, the terms are means over the stack.
struct Contrasted {
  at::Tensor projections;
  at::Tensor gram = {};  ///< G; undefined: none
};
/// Eq. 4: each row's other view against all other rows.
at::Tensor unsupervised_contrastive_loss(const Contrasted& rows, double tau,
                                         Communicator& communicator);
/// Eq. 5: rows of the same label against all other labelled rows. No labelled row: 0.
at::Tensor supervised_contrastive_loss(const Contrasted& rows, const StepBatch& batch, double tau,
                                       Communicator& communicator);
/// Eq. 11: each view predicts the pseudo-label of the other. log_p, labels [2B, K].
at::Tensor cross_view_loss(const at::Tensor& log_p, const at::Tensor& labels,
                           Communicator& communicator);
/// Each row predicts the pseudo-label of its own image, of another view or model. Both [N, K].
at::Tensor taught_loss(const at::Tensor& log_p, const at::Tensor& labels,
                       Communicator& communicator);

}  // namespace protogcd
