// Labelled images that training does not see, so that a threshold can be judged on them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protogcd/data/sample.h"

namespace protogcd {

/// A class with fewer labelled images than this gives none away.
inline constexpr std::size_t kLeastLabelsToShare = 8;

/// Moves this share of every class's labelled images (at least one, of a class with enough) into
/// the calibration set, and returns how many. Which ones depends on the seed and the order alone.
std::size_t keep_out_for_calibration(Dataset& dataset, double share, std::uint64_t seed);

}  // namespace protogcd
