// ProtoGCD's training objective, one function per term (paper, section III; numbers are the paper's
// equations). Rows: a batch of B images has 2B rows, row i is view 1 of image i and row B + i its
// view 2.
//
// Shapes never depend on the data: who is labelled and who gets a hard label are weights of 0 and
// 1, so that a step neither allocates by content nor reads anything back. With several processes,
// each term is this process's share: the shares add up to the whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "protogcd/methods/communicator.h"
#include "protogcd/nn/head.h"

namespace protogcd {

/// The defaults are the reference's: what the released code computes.
struct ObjectiveOptions {
  double lambda_sup = 0.35;    ///< share of the supervised terms, Eq. 6 and 17
  double lambda_entropy = 2;   ///< Eq. 15
  double lambda_sep = 0.1;     ///< Eq. 15
  double tau_base = 0.1;       ///< of predictions
  double tau_sharp = 0.05;     ///< of soft pseudo-labels and of the confidence
  double tau_sep = 0.1;        ///< of the separation
  double tau_unsup_con = 1.0;  ///< tau_c of Eq. 4
  double tau_sup_con = 0.07;   ///< tau_c of Eq. 5
  double weight_dapl = 1, weight_sup = 1, weight_unsup_con = 1, weight_sup_con = 1;  ///< 0: ablated
  /// The released code multiplies the regularisers by 1 - lambda_sup; Eq. 18 does not.
  bool scale_regularisers = true;
  /// The released code ranks by p1 / (p2 + 1e-6), the paper by p1 / p2 (Eq. 8).
  double confidence_floor = 1e-6;

  /// What the equations say where the released code differs (docs/method.md).
  static ObjectiveOptions paper();
};

/// What a step knows about its images.
struct StepBatch {
  at::Tensor labels;    ///< [B] int64; any class where not labelled
  at::Tensor labelled;  ///< [B] 1 where the label may be used, else 0
  /// [B] 1 where the pseudo-label is hard, where that was decided beforehand (paper preset).
  /// Undefined: the `hard_count` most confident images of each view.
  at::Tensor hard;
};

/// Scalars on the device, each unweighted but for `total`.
struct LossTerms {
  at::Tensor total;
  at::Tensor sup, dapl, entropy, separation, unsup_con, sup_con;
  at::Tensor hard_share;  ///< of the 2B pseudo-labels
  at::Tensor marginal;    ///< mean prediction over the batch, [K]
};

/// The terms, and the gradients of their total by what the head puts out.
struct ObjectiveGradients {
  LossTerms terms;
  at::Tensor cosines, prototypes, projections;
};

class Objective {
 public:
  /// `prior`: the class shares that the mean prediction is pulled to, empty for uniform.
  Objective(const ObjectiveOptions& options, std::int64_t classes, std::vector<double> prior,
            at::ScalarType type, at::Device device);

  /// `hard_count`: scalar, how many images of a view get hard labels (over all processes).
  LossTerms operator()(const HeadOutput& output, const StepBatch& batch,
                       const at::Tensor& hard_count, Communicator& communicator) const;

  /// Whether a few kernels of our own do the same: on CUDA, in float32, in one process.
  bool is_fused_for(const HeadOutput& output, const Communicator& communicator) const;
  ObjectiveGradients fused(const HeadOutput& output, const StepBatch& batch,
                           const at::Tensor& hard_count) const;

 private:
  ObjectiveOptions options_;
  at::Tensor log_prior_;  ///< [K]
};

/// Eq. 16: cross-entropy with the labels. log_p [2B, K].
at::Tensor supervised_loss(const at::Tensor& log_p, const StepBatch& batch,
                           Communicator& communicator);
/// Eq. 13: sum of p log p of the mean prediction p [K], relative to a prior: KL(p || prior).
at::Tensor entropy_loss(const at::Tensor& marginal, const at::Tensor& log_prior);
/// Eq. 14: log of the mean exp(mu_i . mu_j / tau) over the other prototypes, mean over prototypes.
/// One prototype has no others: 0.
at::Tensor separation_loss(const at::Tensor& prototypes, double tau);
/// Eq. 4: each row's other view against all other rows. projections [2B, P].
at::Tensor unsupervised_contrastive_loss(const at::Tensor& projections, double tau,
                                         Communicator& communicator);
/// Eq. 5: rows of the same label against all other labelled rows. No labelled row: 0.
at::Tensor supervised_contrastive_loss(const at::Tensor& projections, const StepBatch& batch,
                                       double tau, Communicator& communicator);
/// Eq. 8: how far the nearest prototype is ahead of the second. probabilities [N, K] -> [N]
at::Tensor prototype_confidence(const at::Tensor& probabilities, double floor);
/// Level 1 of DAPL: 1 for the `count` most confident images of each view. [2B] -> [2B]
at::Tensor most_confident(const at::Tensor& confidence, const at::Tensor& count,
                          Communicator& communicator);
/// Eq. 9: one-hot where hard is 1, sharpened predictions [2B, K] else. hard [2B] -> [2B, K].
at::Tensor pseudo_labels(const at::Tensor& sharpened, const at::Tensor& hard);
/// Eq. 11: each view predicts the pseudo-label of the other.
at::Tensor cross_view_loss(const at::Tensor& log_p, const at::Tensor& labels,
                           Communicator& communicator);

}  // namespace protogcd
