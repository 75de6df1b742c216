// How many pseudo-labels are hard, epoch by epoch (paper, Eq. 10).
#pragma once

#include <cstdint>

namespace protogcd {

enum class HardLabels { kRamp, kAll, kNone, kHalf };  ///< kAll, kNone, kHalf: ablations

struct RampOptions {
  HardLabels hard_labels = HardLabels::kRamp;
  std::int64_t epochs = 100;  ///< e_ramp; 0: `to` from the start
  std::int64_t wait = 0;      ///< epochs without hard labels before the ramp
  double from = 0, to = 1;    ///< the shares that it begins and ends with
  /// The released code reaches 1 at epoch e_ramp - 1 (numpy's linspace), Eq. 10 at epoch e_ramp.
  bool as_published = true;
};

/// r(e), Eq. 10: the share of pseudo-labels that are hard.
double hard_ratio(const RampOptions& options, std::int64_t epoch);
/// The whole number of hard labels among `count`: rounded down, as the reference does.
std::int64_t hard_count(const RampOptions& options, std::int64_t epoch, std::int64_t count);

}  // namespace protogcd
