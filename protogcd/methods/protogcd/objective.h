// ProtoGCD's training objective (paper, section III; numbers are the paper's equations). What it
// shares with other methods is in methods/losses.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "protogcd/methods/method.h"
#include "protogcd/nn/communicator.h"
#include "protogcd/nn/head.h"

namespace protogcd {

/// Whose mean prediction is held to the prior.
enum class MarginalScope {
  kBatch,      ///< of every image of a batch, half of them labelled: as published
  kUnlabelled  ///< of unlabelled images, whose shares are what the prior is about
};

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
  MarginalScope marginal_scope = MarginalScope::kBatch;
  /// The mean prediction runs over so many predictions for each class, of the steps before too; 0:
  /// over the batch alone, whatever the number of classes (docs/defaults.md).
  double marginal_window = 0;
  /// The released code multiplies the regularisers by 1 - lambda_sup; Eq. 18 does not.
  bool scale_regularisers = true;
  /// The released code ranks by p1 / (p2 + 1e-6), the paper by p1 / p2 (Eq. 8).
  double confidence_floor = 1e-6;

  /// What the equations say where the released code differs (docs/method.md).
  static ObjectiveOptions paper();
};

/// Which pseudo-labels are hard.
struct HardChoice {
  at::Tensor count;  ///< scalar int64: the most confident images of each view (over all processes)
  /// [B] 1 where the pseudo-label is hard, where that was decided beforehand (paper preset).
  at::Tensor decided = {};
};

/// Scalars on the device, each unweighted but for `total`.
struct LossTerms {
  at::Tensor total;
  at::Tensor sup, dapl, entropy, separation, unsup_con, sup_con;
  at::Tensor hard_share;  ///< of the 2B pseudo-labels
  at::Tensor marginal;    ///< mean prediction over the batch's part that counts, [K]
};

class Objective {
 public:
  /// `prior`: the class shares that the mean prediction is pulled to, empty for uniform.
  Objective(const ObjectiveOptions& options, std::int64_t classes, std::vector<double> prior,
            at::ScalarType type, at::Device device);

  /// By a few kernels of our own where they can: on CUDA, in float32, in one process, without a
  /// teacher.
  /// `teaching`: a teacher's cosines [2B, K], which pseudo-labels then come of; undefined: of the
  /// output's own.
  LossTerms operator()(const HeadOutput& output, const StepBatch& batch, const HardChoice& hard,
                       Communicator& communicator, const at::Tensor& teaching = {}) const;
  /// The definition, in ordinary operations.
  LossTerms plain(const HeadOutput& output, const StepBatch& batch, const HardChoice& hard,
                  Communicator& communicator, const at::Tensor& teaching = {}) const;

  /// Expects other shares [K] from now on.
  void set_prior(const std::vector<double>& shares);
  /// The logarithms of the shares that are expected, [K].
  const at::Tensor& log_prior() const { return log_prior_; }
  /// The mean prediction over the window, [K]: each call moves it on. Starts as the prior.
  const at::Tensor& running_marginal() const { return running_marginal_; }

 private:
  /// How much of the running mean is left after a step of so many rows.
  double kept_share(std::int64_t rows) const;

  ObjectiveOptions options_;
  at::Tensor log_prior_;         ///< [K]
  at::Tensor running_marginal_;  ///< [K]
};

/// Eq. 8: how far the nearest prototype is ahead of the second. probabilities [N, K] -> [N]
at::Tensor prototype_confidence(const at::Tensor& probabilities, double floor);
/// Level 1 of DAPL: 1 for the `count` most confident images of each view. [2B] -> [2B]
at::Tensor most_confident(const at::Tensor& confidence, const at::Tensor& count,
                          Communicator& communicator);
/// Eq. 9: one-hot where hard is 1, sharpened predictions [2B, K] else. hard [2B] -> [2B, K].
at::Tensor pseudo_labels(const at::Tensor& sharpened, const at::Tensor& hard);

}  // namespace protogcd
