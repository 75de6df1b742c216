// The steps of a training, one after the other: views, labels and schedule of an epoch are made
// ready, and each step adds what it reports to a sum. On CUDA a step is one launch of a graph.
#pragma once

#include <cstdint>
#include <memory>

#include "protogcd/engine/captured_work.h"
#include "protogcd/engine/device_clock.h"
#include "protogcd/methods/schedule.h"
#include "protogcd/training/train_step.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// What a step reports, by name.
inline constexpr const char* kStepValues[] = {"total",   "sup",        "dapl",
                                              "entropy", "separation", "unsup_con",
                                              "sup_con", "hard_share", "marginal_old"};
inline constexpr std::int64_t kStepValueCount = std::size(kStepValues);

class StepRunner {
 public:
  /// All references must outlive it.
  StepRunner(TrainStep& step, const TrainingMaterial& material, const Sampler& sampler,
             std::uint64_t seed, const ScheduleOptions& schedule);

  /// `hard` [N] uint8 says who of all images has a hard pseudo-label, where that was decided.
  void start_epoch(std::int64_t epoch, std::int64_t first_step, const at::Tensor& hard = {});
  /// The next step of the epoch.
  void run();

  /// [kStepValueCount] float64 on the device: over the steps since it was last set to 0.
  at::Tensor& sums() { return sums_; }
  /// Of the GPU, since the last call.
  DeviceClock::Times take_times();

 private:
  void work();

  TrainStep& step_;
  const TrainingMaterial& material_;
  const Sampler& sampler_;
  const ScheduleOptions schedule_;
  std::unique_ptr<ViewSource> views_;
  CapturedWork captured_;
  DeviceClock clock_;
  std::int64_t next_ = 0;
  StepBatch of_epoch_;  ///< [steps, B] each
  StepBatch of_step_;   ///< [B] each, where the step reads them
  StepSchedule now_;
  at::Tensor sums_;
};

}  // namespace protogcd
