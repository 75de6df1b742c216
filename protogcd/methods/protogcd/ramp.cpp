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
  if (epoch < options.wait) return 0;
  const std::int64_t ramp = options.epochs, place = epoch - options.wait;
  if (place >= ramp) return options.to;
  const double rise = options.to - options.from;
  if (!options.as_published)
    return options.from + rise * static_cast<double>(place) / static_cast<double>(ramp);
  // numpy's linspace(from, to, ramp): one value is `from`, the last is exactly `to`, and the step
  // is multiplied.
  if (ramp == 1) return options.from;
  if (place == ramp - 1) return options.to;
  return static_cast<double>(place) * (rise / static_cast<double>(ramp - 1)) + options.from;
}

std::int64_t hard_count(const RampOptions& options, std::int64_t epoch, std::int64_t count) {
  return static_cast<std::int64_t>(static_cast<double>(count) * hard_ratio(options, epoch));
}

}  // namespace protogcd
