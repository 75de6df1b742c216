#include "protogcd/methods/protogcd/objective.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/core/error.h"
#include "protogcd/methods/losses.h"
#ifdef PROTOGCD_WITH_CUDA
#include <torch/csrc/autograd/custom_function.h>

#include "protogcd/methods/protogcd/objective_kernels.h"
#endif

namespace protogcd {

ObjectiveOptions ObjectiveOptions::paper() {
  return {.tau_unsup_con = 0.07, .scale_regularisers = false, .confidence_floor = 0};
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

Objective::Objective(const ObjectiveOptions& options, std::int64_t classes,
                     std::vector<double> prior, at::ScalarType type, at::Device device)
    : options_(options) {
  if (prior.empty()) {
    prior.assign(static_cast<std::size_t>(classes), 1.0 / static_cast<double>(classes));
  }
  if (static_cast<std::int64_t>(prior.size()) != classes) {
    throw InternalError("Objective: a prior of another number of classes");
  }
  const at::Tensor shares = at::tensor(prior, at::kDouble);
  log_prior_ = shares.log().to(device, type);
  running_marginal_ = shares.to(device, type);
}

void Objective::set_prior(const std::vector<double>& shares) {
  log_prior_.copy_(at::tensor(shares, at::kDouble).log());  // where a recorded step reads it
}

// A running mean that keeps the share s of what it was looks back over rows / (1 - s) rows.
double Objective::kept_share(std::int64_t rows) const {
  const double window = options_.marginal_window * static_cast<double>(running_marginal_.size(0));
  // Of the rows of a batch one half is unlabelled (data/sampler.h).
  const double counted =
      static_cast<double>(rows) * (options_.marginal_scope == MarginalScope::kBatch ? 1 : 0.5);
  return window > counted ? 1 - counted / window : 0;
}

LossTerms Objective::plain(const HeadOutput& output, const StepBatch& batch, const HardChoice& hard,
                           Communicator& communicator, const at::Tensor& teaching) const {
  const ObjectiveOptions& o = options_;
  const at::Tensor log_p = at::log_softmax(output.cosines / o.tau_base, 1);  // [2B, K], Eq. 2
  LossTerms terms;

  at::Tensor labels;
  {
    const at::NoGradGuard constant;
    const at::Tensor sharpened =
        at::softmax((teaching.defined() ? teaching : output.cosines) / o.tau_sharp, 1);
    const at::Tensor is_hard =
        hard.decided.defined() ? both_views(hard.decided)
                               : most_confident(prototype_confidence(sharpened, o.confidence_floor),
                                                hard.count, communicator);
    terms.hard_share = is_hard.mean();
    labels = pseudo_labels(sharpened, is_hard);
  }
  terms.dapl = cross_view_loss(log_p, labels, communicator);
  terms.sup = supervised_loss(log_p, batch, communicator);

  const auto processes = static_cast<double>(communicator.size());
  const at::Tensor marginal =
      o.marginal_scope == MarginalScope::kBatch
          ? mean_prediction(log_p, communicator)
          : mean_prediction(log_p, both_views(1 - batch.labelled), communicator);
  terms.marginal = marginal.detach();
  {
    const at::NoGradGuard constant;
    const double kept = kept_share(log_p.size(0) * communicator.size());
    running_marginal_.mul_(kept).add_(marginal, 1 - kept);
  }
  terms.entropy = entropy_loss(marginal, running_marginal_, log_prior_) / processes;
  terms.separation = separation_loss(output.prototypes, o.tau_sep) / processes;
  terms.unsup_con =
      unsupervised_contrastive_loss({output.projections}, o.tau_unsup_con, communicator);
  terms.sup_con =
      supervised_contrastive_loss({output.projections}, batch, o.tau_sup_con, communicator);

  // Eq. 18, with Eq. 6, 15 and 17.
  const double unsupervised = 1 - o.lambda_sup;
  const at::Tensor regulariser = terms.entropy * o.lambda_entropy + terms.separation * o.lambda_sep;
  terms.total = (terms.dapl * o.weight_dapl + terms.unsup_con * o.weight_unsup_con) * unsupervised +
                (terms.sup * o.weight_sup + terms.sup_con * o.weight_sup_con) * o.lambda_sup +
                regulariser * (o.scale_regularisers ? unsupervised : 1);
  return terms;
}

#ifdef PROTOGCD_WITH_CUDA

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The total, whose gradients the kernels have computed along with it.
struct FusedTotal : torch::autograd::Function<FusedTotal> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& cosines,
                            const at::Tensor& prototypes, const at::Tensor& projections,
                            const std::function<ObjectiveGradients(const HeadOutput&)>& kernels,
                            LossTerms& terms) {
    const ObjectiveGradients fused = kernels({projections, cosines, prototypes});
    context->save_for_backward({fused.cosines, fused.prototypes, fused.projections});
    terms = fused.terms;
    return terms.total;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& by_total = gradients[0];
    return {saved[0] * by_total, saved[1] * by_total, saved[2] * by_total, {}, {}};
  }
};

}  // namespace

LossTerms Objective::operator()(const HeadOutput& output, const StepBatch& batch,
                                const HardChoice& hard, Communicator& communicator,
                                const at::Tensor& teaching) const {
  if (teaching.defined() || !output.cosines.is_cuda() ||
      output.cosines.scalar_type() != at::kFloat || communicator.size() > 1) {
    return plain(output, batch, hard, communicator, teaching);
  }
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
  LossTerms terms;
  const auto kernels = [&](const HeadOutput& made) {
    return objective_on_cuda(made, batch, hard,
                             {.log_prior = log_prior_,
                              .running = running_marginal_,
                              .kept_share = number(kept_share(made.cosines.size(0))),
                              .of_unlabelled = o.marginal_scope == MarginalScope::kUnlabelled},
                             settings);
  };
  terms.total =
      FusedTotal::apply(output.cosines, output.prototypes, output.projections,
                        std::function<ObjectiveGradients(const HeadOutput&)>(kernels), terms);
  return terms;
}

#else

LossTerms Objective::operator()(const HeadOutput& output, const StepBatch& batch,
                                const HardChoice& hard, Communicator& communicator,
                                const at::Tensor& teaching) const {
  return plain(output, batch, hard, communicator, teaching);
}

#endif

}  // namespace protogcd
