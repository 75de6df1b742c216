// How long and how fast to train.
#pragma once

#include <cstdint>

namespace protogcd {

struct ScheduleOptions {
  std::int64_t epochs = 200;
  double rate = 0.1;  ///< at the start; a thousandth of it at the end
};

/// Cosine from `rate` to rate / 1000, constant within an epoch.
double learning_rate(const ScheduleOptions& options, std::int64_t epoch);

}  // namespace protogcd
