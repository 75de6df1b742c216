#include "protogcd/methods/rank_statistics.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace protogcd {
namespace {

/// Of view 1's logits [B, K].
at::Tensor old_classes_loss(const at::Tensor& logits, const StepBatch& batch,
                            std::int64_t old_classes, Communicator& communicator) {
  if (old_classes == 0) return at::zeros({}, logits.options().requires_grad(false));
  at::Tensor count = batch.labelled.sum();
  communicator.all_reduce(count);
  const at::Tensor labels = batch.labels.clamp_max(old_classes - 1);  // any, if not labelled
  const at::Tensor log_p = at::log_softmax(logits.narrow(1, 0, old_classes), 1);
  const at::Tensor picked = log_p.gather(1, labels.unsqueeze(1)).squeeze(1);
  return -(picked * batch.labelled).sum() / count.clamp_min(1);
}

}  // namespace

at::Tensor rank_codes(const at::Tensor& features, std::int64_t top) {
  const at::NoGradGuard no_grad;
  const at::Tensor largest = std::get<1>(features.topk(std::min(top, features.size(1)), 1));
  return at::zeros_like(features).scatter_(1, largest, 1.0);
}

at::Tensor pair_loss(const at::Tensor& p1, const at::Tensor& p2, const at::Tensor& codes,
                     const at::Tensor& part, Communicator& communicator) {
  constexpr double kTiny = 1e-7;  // as released
  const at::Tensor all_codes = communicator.all_gather(codes),
                   all_part = communicator.all_gather(part);                      // [N, D], [N]
  const at::Tensor shared = at::matmul(codes, all_codes.t());                     // [B, N]
  const at::Tensor same = shared > codes.sum(1, /*keepdim=*/true) - 0.5;          // all of them
  const at::Tensor together = at::matmul(p2, gather_rows(p1, communicator).t());  // P [B, N]
  const at::Tensor likely = at::where(same, together, 1 - together);
  const at::Tensor weight = part.unsqueeze(1) * all_part;  // [B, N]
  return -((likely + kTiny).log() * weight).sum() / all_part.sum().square().clamp_min(1);
}

at::Tensor consistency_loss(const at::Tensor& p1, const at::Tensor& p2,
                            Communicator& communicator) {
  return (p1 - p2).square().mean() / static_cast<double>(communicator.size());
}

RankStatisticsLoss rank_statistics_loss(const at::Tensor& logits, const at::Tensor& codes,
                                        const StepBatch& batch, std::int64_t old_classes,
                                        Communicator& communicator) {
  const std::int64_t images = batch.labels.size(0);
  const at::Tensor p = at::softmax(logits, 1), p1 = p.narrow(0, 0, images),
                   p2 = p.narrow(0, images, images);
  return {.cls = old_classes_loss(logits.narrow(0, 0, images), batch, old_classes, communicator),
          .pairs = pair_loss(p1, p2, codes, 1 - batch.labelled, communicator),
          .consistency = consistency_loss(p1, p2, communicator)};
}

double sigmoid_ramp(std::int64_t epoch, std::int64_t length) {
  if (length <= 0) return 1;
  const double left =
      1 - static_cast<double>(std::min(epoch, length)) / static_cast<double>(length);
  return std::exp(-5 * left * left);
}

}  // namespace protogcd
