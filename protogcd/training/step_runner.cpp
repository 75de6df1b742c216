#include "protogcd/training/step_runner.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <optional>

#include "protogcd/nn/device.h"

namespace protogcd {
namespace {

/// Streams of one run draw independently of each other; the first draws as if it were alone.
std::uint64_t seed_of_stream(std::uint64_t seed, std::size_t stream) {
  constexpr std::uint64_t kApart = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  return seed + stream * kApart;
}

}  // namespace

StepRunner::StepRunner(TrainStep& step, Method& method, const TrainingMaterial& material,
                       std::uint64_t seed, const ScheduleOptions& schedule, TrainingPlan plan)
    : step_(step),
      method_(method),
      material_(material),
      schedule_(schedule),
      plan_(std::move(plan)),
      rate_(material.placement().trained, material.placement().device),
      // Other processes are no part of a graph.
      captured_(material.team() ? at::Device(at::kCPU) : material.placement().device),
      clock_(material.placement().device) {
  for (const BatchStream& asked : method.streams()) {
    const std::uint64_t stream_seed = seed_of_stream(seed, streams_.size());
    const std::size_t batches = streams_.empty() ? 0 : streams_[0]->sampler.batches_per_epoch();
    // A copy draws the same images; its views have this stream's own numbers.
    auto stream = std::make_unique<Stream>(
        Stream{asked.same_images_as ? streams_.at(*asked.same_images_as)->sampler
                                    : material.make_sampler(asked, stream_seed, batches, plan_),
               nullptr,
               {}});
    stream->views = material.make_views(stream->sampler, stream_seed, plan_, asked);
    streams_.push_back(std::move(stream));
  }
  const auto in_steps = std::ranges::count_if(method.reported(), [](const ReportedValue& value) {
    return value.kind != ReportedKind::kSchedule;
  });
  sums_ = at::zeros({1 + in_steps}, at::device(material.placement().device).dtype(at::kDouble));
}

std::int64_t StepRunner::steps_per_epoch() const {
  return static_cast<std::int64_t>(streams_[0]->sampler.batches_per_epoch());
}

std::int64_t StepRunner::images_per_step() const {
  return static_cast<std::int64_t>(streams_[0]->sampler.batch_size());
}

std::vector<double> StepRunner::start_epoch(std::int64_t epoch, std::int64_t first_step,
                                            SetFeatures& sets) {
  rate_.set(learning_rate(schedule_, epoch));
  epoch_ = epoch;
  const auto numbers = method_.begin_epoch({.epoch = epoch,
                                            .images_per_step = images_per_step(),
                                            .is_resumed = first_step > 0,
                                            .sets = sets});
  next_ = first_step;
  if (first_step >= steps_per_epoch()) return numbers;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Sampler& sampler = streams_[i]->sampler;
    sampler.set_draws(method_.draws(i, epoch, sampler.batches_per_epoch(), sampler.batch_size()));
  }
  for (auto& stream : streams_) {
    stream->views->start_epoch(static_cast<std::uint32_t>(epoch),
                               static_cast<std::size_t>(first_step));
    stream->of_epoch = material_.labels_of(stream->sampler, epoch, plan_);
  }
  if (batches_.empty()) {
    for (auto& stream : streams_) {
      batches_.push_back({.labels = at::empty_like(stream->of_epoch.labels[0]),
                          .labelled = at::empty_like(stream->of_epoch.labelled[0]),
                          .places = at::empty_like(stream->of_epoch.places[0])});
    }
  }
  return numbers;
}

void StepRunner::run() {
  const at::Device device = material_.placement().device;
  std::optional<c10::Stream> cuda_stream;
  if (device.is_cuda()) cuda_stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  for (auto& stream : streams_) stream->views->advance();
  if (cuda_stream) clock_.begin(*cuda_stream);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    for (at::Tensor StepBatch::*member :
         {&StepBatch::labels, &StepBatch::labelled, &StepBatch::places}) {
      (batches_[i].*member).copy_((streams_[i]->of_epoch.*member)[next_]);
    }
  }
  const std::int64_t per_epoch = steps_per_epoch();
  step_.set_time(epoch_ * per_epoch + next_, schedule_.epochs * per_epoch);
  ++next_;
  captured_.run([this] { work(); });
  if (cuda_stream) clock_.end(*cuda_stream);
}

void StepRunner::work() {
  // A float32 or float64 trunk was asked for by somebody who wants exact numbers; with tf32,
  // products are rounded already (ComputeSettings).
  const Placement& placement = material_.placement();
  const Tf32Products tf32(placement.frozen == at::kBFloat16 && placement.device.is_cuda());
  for (std::size_t i = 0; i < streams_.size(); ++i)
    batches_[i].tokens = streams_[i]->views->tokens();
  StepLoss loss = step_.run(batches_, *rate_);
  loss.reported.insert(loss.reported.begin(), loss.total);
  sums_ += at::stack(loss.reported);
}

DeviceClock::Times StepRunner::take_times() {
  const DeviceClock::Times steps = clock_.take();
  DeviceClock* views = streams_[0]->views->clock();
  return views != nullptr ? views->take() : steps;
}

}  // namespace protogcd
