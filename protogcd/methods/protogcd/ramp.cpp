#include "protogcd/methods/protogcd/ramp.h"

namespace protogcd {

double hard_ratio(const RampOptions& options, std::int64_t epoch) {
  switch (options.hard_labels) {
    case HardLabels::kAll:
      return 1;
    case HardLabels::kNone:
      return 0;
    case HardLabels::kHalf:
      return 0.5;
    case HardLabels::kRamp:
      break;
  }
  const std::int64_t ramp = options.epochs;
  if (epoch >= ramp) return 1;
  if (!options.as_published) return static_cast<double>(epoch) / static_cast<double>(ramp);
  // numpy's linspace(0, 1, ramp): one value is 0, the last is exactly 1, and the step is
  // multiplied.
  if (ramp == 1) return 0;
  if (epoch == ramp - 1) return 1;
  return static_cast<double>(epoch) * (1.0 / static_cast<double>(ramp - 1));
}

std::int64_t hard_count(const RampOptions& options, std::int64_t epoch, std::int64_t count) {
  return static_cast<std::int64_t>(static_cast<double>(count) * hard_ratio(options, epoch));
}

}  // namespace protogcd
