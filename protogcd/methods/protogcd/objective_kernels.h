// The objective with its gradients in a few CUDA kernels (objective_kernels.cu), for one process in
// float32. `Objective::plain` is the definition; a test holds this to it.
#pragma once

#include <ATen/core/Tensor.h>

#include "protogcd/methods/protogcd/objective.h"
#include "protogcd/nn/head.h"

namespace protogcd {

constexpr float kUnitFloor = 1e-12f;  ///< as unit_rows has it

/// Temperatures, and what each term weighs in the total.
struct ObjectiveSettings {
  float tau_base, tau_sharp, tau_sep, tau_unsup_con, tau_sup_con, confidence_floor;
  float weight_dapl, weight_sup, weight_entropy, weight_separation, weight_unsup_con,
      weight_sup_con;
};

/// What the mean prediction is held to (Eq. 13): all on the device.
struct MarginalTarget {
  at::Tensor log_prior;  ///< [K]
  at::Tensor running;    ///< [K] the mean prediction over several steps, moved on
  float kept_share;      ///< of it, at this step
  bool of_unlabelled;    ///< whether rows of labelled images do not count
};

/// The terms, and the gradients of their total by what the head puts out.
struct ObjectiveGradients {
  LossTerms terms;
  at::Tensor cosines, prototypes, projections;
};

/// Labelled and hard labels float32 on the device.
ObjectiveGradients objective_on_cuda(const HeadOutput& output, const StepBatch& batch,
                                     const HardChoice& hard, const MarginalTarget& target,
                                     const ObjectiveSettings& settings);

}  // namespace protogcd
