#include "protogcd/methods/protogcd/objective.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "protogcd/core/error.h"
#ifdef PROTOGCD_WITH_CUDA
#include "protogcd/methods/protogcd/objective_kernels.h"
#endif

namespace protogcd {
namespace {

/// Added to the score of a pair that must not count. Finite, so that a row whose pairs are all
/// excluded has finite values and gradients, which a weight of 0 then takes out.
constexpr double kExcluded = -1e9;

/// [B] -> [2B], for both views.
at::Tensor both_views(const at::Tensor& images) {
  return at::cat({images, images});
}

at::Tensor swap_views(const at::Tensor& rows) {
  return rows.roll(rows.size(0) / 2, 0);
}

/// 1 where local row i and gathered row j are the same row, [2B, N].
at::Tensor same_row(std::int64_t local, std::int64_t gathered, Communicator& communicator,
                    const at::TensorOptions& options) {
  return at::eye(gathered, options).narrow(0, communicator.rank() * local, local);
}

/// Similarities of this process's rows with all rows, the row itself excluded: [2B, N].
struct Similarities {
  Similarities(const at::Tensor& projections, double tau, Communicator& communicator) {
    const at::Tensor unit = unit_rows(projections);
    const at::Tensor all = gather_rows(unit, communicator);
    const auto options = projections.options().requires_grad(false);
    self = same_row(unit.size(0), all.size(0), communicator, options);
    scores = at::matmul(unit, all.t()) / tau + self * kExcluded;
  }

  at::Tensor self, scores;
};

}  // namespace

ObjectiveOptions ObjectiveOptions::paper() {
  return {.tau_unsup_con = 0.07, .scale_regularisers = false, .confidence_floor = 0};
}

at::Tensor supervised_loss(const at::Tensor& log_p, const StepBatch& batch,
                           Communicator& communicator) {
  const at::Tensor weight = both_views(batch.labelled);  // [2B]
  at::Tensor count = weight.sum();
  communicator.all_reduce(count);
  const at::Tensor picked =
      log_p.gather(1, both_views(batch.labels).unsqueeze(1)).squeeze(1);  // [2B]
  return -(picked * weight).sum() / count.clamp_min(1);
}

at::Tensor entropy_loss(const at::Tensor& marginal, const at::Tensor& log_prior) {
  // A class that nobody predicts adds nothing, and its gradient stays finite.
  constexpr double kTiny = 1e-30;
  return (marginal * (marginal.clamp_min(kTiny).log() - log_prior)).sum();
}

at::Tensor separation_loss(const at::Tensor& prototypes, double tau) {
  const std::int64_t classes = prototypes.size(0);
  if (classes == 1) return at::zeros({}, prototypes.options().requires_grad(false));
  const at::Tensor self = at::eye(classes, prototypes.options().requires_grad(false));
  const at::Tensor scores = at::matmul(prototypes, prototypes.t()) / tau + self * kExcluded;
  return at::logsumexp(scores, 1).mean() - std::log(static_cast<double>(classes - 1));
}

at::Tensor unsupervised_contrastive_loss(const at::Tensor& projections, double tau,
                                         Communicator& communicator) {
  const Similarities pairs(projections, tau, communicator);
  const at::Tensor other_view = swap_views(pairs.self);  // [2B, N], one 1 in each row
  const at::Tensor positive = (pairs.scores * other_view).sum(1);
  return (at::logsumexp(pairs.scores, 1) - positive).sum() /
         static_cast<double>(pairs.scores.size(1));
}

at::Tensor supervised_contrastive_loss(const at::Tensor& projections, const StepBatch& batch,
                                       double tau, Communicator& communicator) {
  const Similarities pairs(projections, tau, communicator);
  const at::Tensor weight = both_views(batch.labelled), labels = both_views(batch.labels);  // [2B]
  const at::Tensor all_weights = communicator.all_gather(weight),
                   all_labels = communicator.all_gather(labels);  // [N]
  const at::Tensor scores = pairs.scores + (1 - all_weights) * kExcluded;
  const at::Tensor log_share = scores - at::logsumexp(scores, 1, /*keepdim=*/true);  // [2B, N]
  const at::Tensor positives = (labels.unsqueeze(1) == all_labels).to(scores.scalar_type()) *
                               all_weights * (1 - pairs.self);  // [2B, N]
  const at::Tensor mean = (positives * log_share).sum(1) / positives.sum(1).clamp_min(1);
  return -(mean * weight).sum() / all_weights.sum().clamp_min(1);
}

at::Tensor prototype_confidence(const at::Tensor& probabilities, double floor) {
  if (probabilities.size(1) == 1) return probabilities.select(1, 0);
  const at::Tensor top = std::get<0>(probabilities.topk(2, 1));  // [N, 2]
  return top.select(1, 0) / (top.select(1, 1) + floor);
}

// An image's rank is the number of images before it; equal confidences rank by position.
at::Tensor most_confident(const at::Tensor& confidence, const at::Tensor& count,
                          Communicator& communicator) {
  const std::int64_t images = confidence.size(0) / 2;
  const at::Tensor local = confidence.view({2, images});                               // [2, B]
  const at::Tensor all = communicator.all_gather(local.t().contiguous()).t();          // [2, N]
  const at::Tensor index = at::arange(all.size(1), count.options().dtype(at::kLong));  // [N]
  const at::Tensor own = index.narrow(0, communicator.rank() * images, images);        // [B]
  const at::Tensor mine = local.unsqueeze(2), other = all.unsqueeze(1);
  const at::Tensor before =
      other.gt(mine).logical_or(other.eq(mine).logical_and(index.lt(own.unsqueeze(1))));
  return before.sum(2).lt(count).to(confidence.scalar_type()).view({2 * images});
}

at::Tensor pseudo_labels(const at::Tensor& sharpened, const at::Tensor& hard) {
  const at::Tensor one_hot =
      at::zeros_like(sharpened).scatter_(1, sharpened.argmax(1, /*keepdim=*/true), 1);
  return at::lerp(sharpened, one_hot, hard.unsqueeze(1));
}

at::Tensor cross_view_loss(const at::Tensor& log_p, const at::Tensor& labels,
                           Communicator& communicator) {
  const auto rows = static_cast<double>(log_p.size(0) * communicator.size());
  return -(swap_views(labels) * log_p).sum() / rows;
}

Objective::Objective(const ObjectiveOptions& options, std::int64_t classes,
                     std::vector<double> prior, at::ScalarType type, at::Device device)
    : options_(options) {
  if (prior.empty()) {
    prior.assign(static_cast<std::size_t>(classes), 1.0 / static_cast<double>(classes));
  }
  if (static_cast<std::int64_t>(prior.size()) != classes) {
    throw InternalError("Objective: a prior of another number of classes");
  }
  log_prior_ = at::tensor(prior, at::kDouble).log().to(device, type);
}

LossTerms Objective::operator()(const HeadOutput& output, const StepBatch& batch,
                                const at::Tensor& hard_count, Communicator& communicator) const {
  const ObjectiveOptions& o = options_;
  const at::Tensor log_p = at::log_softmax(output.cosines / o.tau_base, 1);  // [2B, K], Eq. 2
  LossTerms terms;

  at::Tensor labels;
  {
    const at::NoGradGuard constant;
    const at::Tensor sharpened = at::softmax(output.cosines / o.tau_sharp, 1);
    const at::Tensor hard =
        batch.hard.defined() ? both_views(batch.hard)
                             : most_confident(prototype_confidence(sharpened, o.confidence_floor),
                                              hard_count, communicator);
    terms.hard_share = hard.mean();
    labels = pseudo_labels(sharpened, hard);
  }
  terms.dapl = cross_view_loss(log_p, labels, communicator);
  terms.sup = supervised_loss(log_p, batch, communicator);

  const auto processes = static_cast<double>(communicator.size());
  const at::Tensor marginal = sum_over_processes(log_p.exp().mean(0), communicator) / processes;
  terms.marginal = marginal.detach();
  terms.entropy = entropy_loss(marginal, log_prior_) / processes;
  terms.separation = separation_loss(output.prototypes, o.tau_sep) / processes;
  terms.unsup_con =
      unsupervised_contrastive_loss(output.projections, o.tau_unsup_con, communicator);
  terms.sup_con =
      supervised_contrastive_loss(output.projections, batch, o.tau_sup_con, communicator);

  // Eq. 18, with Eq. 6, 15 and 17.
  const double unsupervised = 1 - o.lambda_sup;
  const at::Tensor regulariser = terms.entropy * o.lambda_entropy + terms.separation * o.lambda_sep;
  terms.total = (terms.dapl * o.weight_dapl + terms.unsup_con * o.weight_unsup_con) * unsupervised +
                (terms.sup * o.weight_sup + terms.sup_con * o.weight_sup_con) * o.lambda_sup +
                regulariser * (o.scale_regularisers ? unsupervised : 1);
  return terms;
}

#ifdef PROTOGCD_WITH_CUDA

bool Objective::is_fused_for(const HeadOutput& output, const Communicator& communicator) const {
  return output.cosines.is_cuda() && output.cosines.scalar_type() == at::kFloat &&
         communicator.size() == 1;
}

ObjectiveGradients Objective::fused(const HeadOutput& output, const StepBatch& batch,
                                    const at::Tensor& hard_count) const {
  const ObjectiveOptions& o = options_;
  const double unsupervised = 1 - o.lambda_sup;
  const double regulariser = o.scale_regularisers ? unsupervised : 1;
  const auto number = [](double value) { return static_cast<float>(value); };
  const ObjectiveSettings settings{.tau_base = number(o.tau_base),
                                   .tau_sharp = number(o.tau_sharp),
                                   .tau_sep = number(o.tau_sep),
                                   .tau_unsup_con = number(o.tau_unsup_con),
                                   .tau_sup_con = number(o.tau_sup_con),
                                   .confidence_floor = number(o.confidence_floor),
                                   .weight_dapl = number(o.weight_dapl * unsupervised),
                                   .weight_sup = number(o.weight_sup * o.lambda_sup),
                                   .weight_entropy = number(o.lambda_entropy * regulariser),
                                   .weight_separation = number(o.lambda_sep * regulariser),
                                   .weight_unsup_con = number(o.weight_unsup_con * unsupervised),
                                   .weight_sup_con = number(o.weight_sup_con * o.lambda_sup)};
  const at::NoGradGuard constant;
  return objective_on_cuda(output, batch, hard_count, log_prior_, settings);
}

#else

bool Objective::is_fused_for(const HeadOutput&, const Communicator&) const {
  return false;
}

ObjectiveGradients Objective::fused(const HeadOutput&, const StepBatch&, const at::Tensor&) const {
  throw InternalError("Objective: built without CUDA");
}

#endif

}  // namespace protogcd
