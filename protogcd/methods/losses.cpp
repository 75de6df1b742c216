#include "protogcd/methods/losses.h"

#include <ATen/ATen.h>

#include <cmath>

#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

/// Added to the score of a pair that must not count. Finite, so that a row whose pairs are all
/// excluded has finite values and gradients, which a weight of 0 then takes out.
constexpr double kExcluded = -1e9;
constexpr double kLeastSquare = 1e-24;  // of a length: unit_rows' least, squared

at::Tensor swap_views(const at::Tensor& rows) {
  return rows.roll(rows.size(0) / 2, 0);
}

/// 1 where local row i and gathered row j are the same row, [2B, N].
at::Tensor same_row(std::int64_t local, std::int64_t gathered, Communicator& communicator,
                    const at::TensorOptions& options) {
  return at::eye(gathered, options).narrow(0, communicator.rank() * local, local);
}

/// gather_rows where a dimension, of a stack, may stand before that of rows.
at::Tensor gather_stacked_rows(const at::Tensor& rows, Communicator& communicator) {
  if (rows.dim() == 2 || communicator.size() == 1) return gather_rows(rows, communicator);
  return gather_rows(rows.transpose(0, 1).contiguous(), communicator).transpose(0, 1);
}

/// Of each image of each process, [B] or stacked [E, B], for all views of all: [N] or [E, N].
at::Tensor gather_of_views(const at::Tensor& of_images, Communicator& communicator) {
  const at::Tensor own = at::cat({of_images, of_images}, -1);
  if (own.dim() == 1) return communicator.all_gather(own);
  return communicator.all_gather(own.t().contiguous()).t();
}

/// Similarities of this process's rows with all rows, the row itself excluded: [2B, N].
struct Similarities {
  Similarities(const Contrasted& rows, double tau, Communicator& communicator) {
    const at::Tensor unit = unit_of(rows);
    const at::Tensor all = gather_stacked_rows(unit, communicator);
    const auto options = unit.options().requires_grad(false);
    self = same_row(unit.size(-2), all.size(-2), communicator, options);
    const at::Tensor mapped = rows.gram.defined() ? at::matmul(unit, rows.gram) : unit;
    scores = at::matmul(mapped, all.transpose(-2, -1)) / tau + self * kExcluded;
  }

  /// Rows of length 1, as the wide layer would give them.
  static at::Tensor unit_of(const Contrasted& rows) {
    if (!rows.gram.defined()) return unit_rows(rows.projections);
    const at::Tensor squares =
        (at::matmul(rows.projections, rows.gram) * rows.projections).sum(-1, /*keepdim=*/true);
    return rows.projections / squares.clamp_min(kLeastSquare).sqrt();
  }

  at::Tensor self, scores;  ///< the latter [2B, N] or stacked [E, 2B, N]
};

}  // namespace

at::Tensor both_views(const at::Tensor& images) {
  return at::cat({images, images});
}

at::Tensor supervised_loss(const at::Tensor& log_p, const StepBatch& batch,
                           Communicator& communicator) {
  const bool one_view = log_p.size(0) == batch.labels.size(0);
  const at::Tensor weight = one_view ? batch.labelled : both_views(batch.labelled),
                   labels = one_view ? batch.labels : both_views(batch.labels);  // [2B]
  at::Tensor count = weight.sum();
  communicator.all_reduce(count);
  const at::Tensor picked = log_p.gather(1, labels.unsqueeze(1)).squeeze(1);  // [2B]
  return -(picked * weight).sum() / count.clamp_min(1);
}

at::Tensor mean_prediction(const at::Tensor& log_p, Communicator& communicator) {
  return sum_over_processes(log_p.exp().mean(0), communicator) /
         static_cast<double>(communicator.size());
}

at::Tensor mean_prediction(const at::Tensor& log_p, const at::Tensor& weights,
                           Communicator& communicator) {
  at::Tensor count = weights.sum();
  communicator.all_reduce(count);
  return sum_over_processes(at::matmul(weights, log_p.exp()), communicator) / count.clamp_min(1);
}

at::Tensor entropy_loss(const at::Tensor& marginal, const at::Tensor& log_prior) {
  return entropy_loss(marginal, marginal, log_prior);
}

at::Tensor entropy_loss(const at::Tensor& marginal, const at::Tensor& running,
                        const at::Tensor& log_prior) {
  // A class that nobody predicts adds nothing, and its gradient stays finite.
  constexpr double kTiny = 1e-30;
  return (marginal * (running.clamp_min(kTiny).log() - log_prior)).sum();
}

at::Tensor separation_loss(const at::Tensor& prototypes, double tau) {
  const std::int64_t classes = prototypes.size(0);
  if (classes == 1) return at::zeros({}, prototypes.options().requires_grad(false));
  const at::Tensor self = at::eye(classes, prototypes.options().requires_grad(false));
  const at::Tensor scores = at::matmul(prototypes, prototypes.t()) / tau + self * kExcluded;
  return at::logsumexp(scores, 1).mean() - std::log(static_cast<double>(classes - 1));
}

at::Tensor unsupervised_contrastive_loss(const Contrasted& rows, double tau,
                                         Communicator& communicator) {
  const Similarities pairs(rows, tau, communicator);
  const at::Tensor other_view = swap_views(pairs.self);  // [2B, N], one 1 in each row
  const at::Tensor positive = (pairs.scores * other_view).sum(-1);
  const at::Tensor of_each = (at::logsumexp(pairs.scores, -1) - positive).sum(-1);
  return of_each.mean() / static_cast<double>(pairs.scores.size(-1));
}

at::Tensor supervised_contrastive_loss(const Contrasted& rows, const StepBatch& batch, double tau,
                                       Communicator& communicator) {
  const Similarities pairs(rows, tau, communicator);
  const at::Tensor weight = at::cat({batch.labelled, batch.labelled}, -1),
                   labels = at::cat({batch.labels, batch.labels}, -1);  // [2B]
  const at::Tensor all_weights = gather_of_views(batch.labelled, communicator),
                   all_labels = gather_of_views(batch.labels, communicator);  // [N]
  const at::Tensor scores = pairs.scores + ((1 - all_weights) * kExcluded).unsqueeze(-2);
  const at::Tensor log_share = scores - at::logsumexp(scores, -1, /*keepdim=*/true);  // [2B, N]
  const at::Tensor positives =
      (labels.unsqueeze(-1) == all_labels.unsqueeze(-2)).to(scores.scalar_type()) *
      all_weights.unsqueeze(-2) * (1 - pairs.self);  // [2B, N]
  const at::Tensor mean = (positives * log_share).sum(-1) / positives.sum(-1).clamp_min(1);
  return -((mean * weight).sum(-1) / all_weights.sum(-1).clamp_min(1)).mean();
}

at::Tensor cross_view_loss(const at::Tensor& log_p, const at::Tensor& labels,
                           Communicator& communicator) {
  return taught_loss(log_p, swap_views(labels), communicator);
}

at::Tensor taught_loss(const at::Tensor& log_p, const at::Tensor& labels,
                       Communicator& communicator) {
  const auto rows = static_cast<double>(log_p.size(0) * communicator.size());
  return -(labels * log_p).sum() / rows;
}

}  // namespace protogcd
