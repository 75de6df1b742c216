#include "protogcd/methods/learning_rate.h"

#include <cmath>
#include <numbers>

namespace protogcd {

double learning_rate(const ScheduleOptions& options, std::int64_t epoch) {
  const double last = options.rate * 1e-3;
  const double angle =
      std::numbers::pi * static_cast<double>(epoch) / static_cast<double>(options.epochs);
  return last + (options.rate - last) * (1 + std::cos(angle)) / 2;
}

}  // namespace protogcd
