// The learning rate of pre-training, step by step.
#pragma once

#include <cstdint>

namespace protogcd {

struct WarmupSchedule {
  double rate = 1e-3;         ///< at its highest
  std::int64_t steps = 7000;  ///< of the whole training
  std::int64_t warmup = 350;  ///< steps in which the rate rises in a straight line
};

/// Rises to `rate` in the step before `warmup`, then falls as half a cosine to a thousandth of it
/// in the last step.
double learning_rate(const WarmupSchedule& schedule, std::int64_t step);

}  // namespace protogcd
