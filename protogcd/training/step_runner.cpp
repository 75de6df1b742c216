#include "protogcd/training/step_runner.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>

#include "protogcd/nn/device.h"

namespace protogcd {
namespace {

at::Tensor step_values(const LossTerms& terms, std::int64_t old_classes) {
  return at::stack({terms.total, terms.sup, terms.dapl, terms.entropy, terms.separation,
                    terms.unsup_con, terms.sup_con, terms.hard_share,
                    terms.marginal.narrow(0, 0, old_classes).sum()});
}

}  // namespace

StepRunner::StepRunner(TrainStep& step, const TrainingMaterial& material, const Sampler& sampler,
                       std::uint64_t seed, const ScheduleOptions& schedule)
    : step_(step),
      material_(material),
      sampler_(sampler),
      schedule_(schedule),
      views_(material.make_views(sampler, seed)),
      captured_(material.placement().device),
      clock_(material.placement().device) {
  const Placement& placement = material.placement();
  const auto on_device = at::device(placement.device);
  now_ = {.rate = at::zeros({}, on_device.dtype(placement.trained)),
          .hard_count = at::zeros({}, on_device.dtype(at::kLong))};
  sums_ = at::zeros({kStepValueCount}, on_device.dtype(at::kDouble));
}

void StepRunner::start_epoch(std::int64_t epoch, std::int64_t first_step, const at::Tensor& hard) {
  now_.rate.fill_(learning_rate(schedule_, epoch));
  now_.hard_count.fill_(
      hard_count(schedule_, epoch, static_cast<std::int64_t>(sampler_.batch_size())));
  next_ = first_step;
  if (first_step >= static_cast<std::int64_t>(sampler_.batches_per_epoch())) return;
  views_->start_epoch(static_cast<std::uint32_t>(epoch), static_cast<std::size_t>(first_step));
  of_epoch_ = material_.labels_of(sampler_, epoch, hard);
  if (of_step_.labels.defined()) return;
  of_step_ = {.labels = at::empty_like(of_epoch_.labels[0]),
              .labelled = at::empty_like(of_epoch_.labelled[0]),
              .hard = hard.defined() ? at::empty_like(of_epoch_.hard[0]) : at::Tensor()};
}

void StepRunner::run() {
  const at::Device device = material_.placement().device;
  std::optional<c10::Stream> stream;
  if (device.is_cuda()) stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  views_->advance();
  if (stream) clock_.begin(*stream);
  for (at::Tensor StepBatch::*member :
       {&StepBatch::labels, &StepBatch::labelled, &StepBatch::hard}) {
    if ((of_epoch_.*member).defined()) (of_step_.*member).copy_((of_epoch_.*member)[next_]);
  }
  ++next_;
  captured_.run([this] { work(); });
  if (stream) clock_.end(*stream);
}

void StepRunner::work() {
  // A float32 or float64 trunk was asked for by somebody who wants exact numbers.
  const Placement& placement = material_.placement();
  const Tf32Products tf32(placement.frozen == at::kBFloat16 && placement.device.is_cuda());
  const LossTerms terms = step_.run(views_->tokens(), of_step_, now_);
  sums_ += step_values(terms, static_cast<std::int64_t>(material_.set().dataset().old_classes));
}

DeviceClock::Times StepRunner::take_times() {
  const DeviceClock::Times steps = clock_.take();
  DeviceClock* views = views_->clock();
  return views != nullptr ? views->take() : steps;
}

}  // namespace protogcd
