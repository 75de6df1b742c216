#include "protogcd/pretrain/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace protogcd {

double learning_rate(const WarmupSchedule& schedule, std::int64_t step) {
  const auto& [rate, steps, warmup] = schedule;
  if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double last = rate * 1e-3;
  const double done = static_cast<double>(step - warmup) /
                      static_cast<double>(std::max<std::int64_t>(steps - 1 - warmup, 1));
  return last + (rate - last) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace protogcd
