#include "protogcd/methods/pairing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/methods/losses.h"

namespace protogcd {
namespace {

/// Numbers of this process's rows among those of all processes. [B]
at::Tensor own_numbers(std::int64_t rows, Communicator& communicator, const at::Device& device) {
  return at::arange(rows, at::device(device).dtype(at::kLong)) + communicator.rank() * rows;
}

/// int64 in [0, 2^31): mixes the bits of non-negative numbers.
at::Tensor scrambled(const at::Tensor& numbers) {
  constexpr std::int64_t kMask = 0x7fffffff, kFactor = 73244475, kShift = 15;
  at::Tensor mixed = at::bitwise_and(numbers, kMask);
  for (int i = 0; i < 2; ++i) {
    mixed = at::bitwise_xor(mixed, at::bitwise_right_shift(mixed, kShift));
    mixed = at::bitwise_and(mixed * kFactor, kMask);  // below 2^58: no overflow
  }
  return at::bitwise_xor(mixed, at::bitwise_right_shift(mixed, kShift));
}

}  // namespace

at::Tensor nearest_partners(const at::Tensor& rows, Communicator& communicator) {
  const at::NoGradGuard no_grad;
  constexpr double kNotItself = 4;  // cosines differ by at most 2
  const at::Tensor all = communicator.all_gather(rows);
  const at::Tensor itself = own_numbers(rows.size(0), communicator, rows.device()).unsqueeze(1);
  const at::Tensor cosines = at::matmul(rows, all.t());  // [B, N]
  return cosines.scatter_add(1, itself, at::full_like(itself, -kNotItself, rows.options()))
      .argmax(1);
}

at::Tensor labelled_partners(const StepBatch& batch, const at::Tensor& step,
                             Communicator& communicator) {
  const at::NoGradGuard no_grad;
  const at::Tensor itself =
      own_numbers(batch.labels.size(0), communicator, batch.labels.device());  // [B]
  const at::Tensor all_labels = communicator.all_gather(batch.labels),
                   all_labelled = communicator.all_gather(batch.labelled);  // [N]
  const at::Tensor others = at::arange(all_labels.size(0), itself.options());
  // A draw of its own for each pair of places in the batch and each step: 1 or more where the other
  // may be taken, 0 where not.
  const at::Tensor chance =
      scrambled(scrambled(step * 40503 + itself.unsqueeze(1)) + others * 69069) + 1;  // [B, N]
  const at::Tensor may = (batch.labels.unsqueeze(1) == all_labels)
                             .logical_and(all_labelled > 0)
                             .logical_and(itself.unsqueeze(1) != others);
  const at::Tensor drawn = chance * may;
  return at::where(may.any(1), drawn.argmax(1), itself);
}

OrcaLoss orca_loss(const at::Tensor& logits, const at::Tensor& partners, const StepBatch& batch,
                   const at::Tensor& margin, Communicator& communicator) {
  constexpr double kLeast = 1e-30, kLeastShare = 1e-8;
  const std::int64_t images = batch.labels.size(0);
  const at::Tensor first = logits.narrow(0, 0, images), labels = batch.labels.unsqueeze(1);
  at::Tensor count = batch.labelled.sum();
  communicator.all_reduce(count);
  const at::Tensor raised =
      first + at::zeros_like(first.detach()).scatter_(1, labels, 1.0) * margin;
  const at::Tensor picked = at::log_softmax(raised, 1).gather(1, labels).squeeze(1);
  const at::Tensor log_p1 = at::log_softmax(first, 1);
  const at::Tensor all_p2 =
      gather_rows(at::softmax(logits.narrow(0, images, images), 1), communicator);  // [N, K]
  const at::Tensor together =
      (log_p1.exp() * all_p2.index_select(0, partners)).sum(1).clamp_min(kLeast);  // [B]
  const at::Tensor mean = mean_prediction(log_p1, communicator);                   // [K]
  return {.cls = -(picked * batch.labelled).sum() / count.clamp_min(1),
          .pairs = -together.log().sum() / static_cast<double>(all_p2.size(0)),
          .entropy = -(mean * mean.clamp_min(kLeastShare).log()).sum() /
                     static_cast<double>(communicator.size())};
}

}  // namespace protogcd
