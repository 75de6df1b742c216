// The classes of the Semantic Shift Benchmark (CUB, Stanford Cars, FGVC-Aircraft) as published:
// 0-based class ids; their order is the order of the labels.
#pragma once

#include <cstdint>
#include <span>

namespace protogcd {

struct SsbSplit {
  std::span<const std::uint8_t> known;
  /// Hard, then medium, then easy: the order in which the reference numbers new classes.
  std::span<const std::uint8_t> hard, medium, easy;
};

extern const SsbSplit kCubSplit;
extern const SsbSplit kScarsSplit;
extern const SsbSplit kAircraftSplit;

}  // namespace protogcd
