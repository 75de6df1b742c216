// What changes from epoch to epoch: the learning rate, and how many pseudo-labels are hard.
#pragma once

#include <cstdint>

namespace protogcd {

enum class HardLabels { kRamp, kAll, kNone, kHalf };  ///< kAll, kNone, kHalf: ablations

struct ScheduleOptions {
  std::int64_t epochs = 200;
  double rate = 0.1;  ///< at the start; a thousandth of it at the end
  HardLabels hard_labels = HardLabels::kRamp;
  std::int64_t ramp_epochs = 100;  ///< e_ramp; 0: all hard from the start
  /// The released code reaches 1 at epoch e_ramp - 1 (numpy's linspace), Eq. 10 at epoch e_ramp.
  bool ramp_as_published = true;
};

/// Cosine from `rate` to rate / 1000, constant within an epoch.
double learning_rate(const ScheduleOptions& options, std::int64_t epoch);
/// r(e), Eq. 10: the share of pseudo-labels that are hard.
double hard_ratio(const ScheduleOptions& options, std::int64_t epoch);
/// The whole number of hard labels among `count`: rounded down, as the reference does.
std::int64_t hard_count(const ScheduleOptions& options, std::int64_t epoch, std::int64_t count);

}  // namespace protogcd
