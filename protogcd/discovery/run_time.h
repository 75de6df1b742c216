// About how long a run takes, told before it begins: from the time that the frozen blocks take for
// a few views on this machine, and from what the run will ask of them.
#pragma once

#include <cstdint>

#include "protogcd/core/context.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// What a run asks for.
struct RunWork {
  std::int64_t views = 0;       ///< through the frozen blocks, once
  std::int64_t steps = 0;       ///< of all trainings
  std::int64_t step_views = 0;  ///< that these steps see together
  bool fresh_views = false;     ///< each of them through the frozen blocks again
};

/// What is found out before the first step (before_training.h).
struct FoundBefore {
  bool classes = false, settings = false, confidence = false;
};

/// Of a run with these options, the stage before it included.
RunWork work_of(TrainingMaterial& material, const Backbone& backbone, const TrainOptions& options,
                const FoundBefore& before, const Context& context);

/// In seconds; what the frozen blocks take is measured, on the device.
double about_seconds(const RunWork& work, const TrainingMaterial& material,
                     const Backbone& backbone);

}  // namespace protogcd
