// About how long a run takes, told before it begins: from the time that the frozen blocks take for
// a few views on this machine, and from what the run will ask of them.
#pragma once

#include <cstdint>

#include "protogcd/core/context.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// What a run asks for.
struct RunWork {
  std::int64_t views = 0;           ///< through the frozen blocks, once
  std::int64_t steps = 0;           ///< of training
  std::int64_t views_per_step = 0;  ///< two for each image of a batch
  bool fresh_views = false;         ///< each of them through the frozen blocks again
};

/// In seconds; what the frozen blocks take is measured, on the device.
double about_seconds(const RunWork& work, const TrainingMaterial& material,
                     const Backbone& backbone);

}  // namespace protogcd
