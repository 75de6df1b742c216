// The steps of a training, one after the other: views, labels and numbers of an epoch are made
// ready, and each step adds what it reports to a sum. On CUDA a step is one launch of a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protogcd/engine/captured_work.h"
#include "protogcd/engine/device_clock.h"
#include "protogcd/methods/learning_rate.h"
#include "protogcd/methods/method.h"
#include "protogcd/training/train_step.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

class StepRunner {
 public:
  /// All references must outlive it.
  StepRunner(TrainStep& step, Method& method, const TrainingMaterial& material, std::uint64_t seed,
             const ScheduleOptions& schedule, TrainingPlan plan = {});

  std::int64_t steps_per_epoch() const;
  std::int64_t images_per_step() const;

  /// Returns the method's numbers of the epoch. `first_step` above 0: the epoch goes on.
  std::vector<double> start_epoch(std::int64_t epoch, std::int64_t first_step, SetFeatures& sets);
  /// The next step of the epoch.
  void run();

  /// [1 + R] float64 on the device: the loss and what the method reports of a step, over the steps
  /// since it was last set to 0.
  at::Tensor& sums() { return sums_; }
  /// Of the GPU, since the last call.
  DeviceClock::Times take_times();

 private:
  /// What one of the method's streams draws.
  struct Stream {
    Sampler sampler;
    std::unique_ptr<ViewSource> views;
    StepBatch of_epoch;  ///< [steps, B] each
  };

  void work();

  TrainStep& step_;
  Method& method_;
  const TrainingMaterial& material_;
  const ScheduleOptions schedule_;
  const TrainingPlan plan_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<StepBatch> batches_;  ///< [B] each, where the step reads them
  EpochScalar rate_;
  CapturedWork captured_;
  DeviceClock clock_;
  std::int64_t epoch_ = 0, next_ = 0;
  at::Tensor sums_;
};

}  // namespace protogcd
