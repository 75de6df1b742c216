// The fifteen common corruptions of Hendrycks and Dietterich (2019), each in five severities: what
// noise, blur, weather and compression do to photographs, to judge a model away from its data.
//
//   RandomStream random({.seed = 1, .purpose = RandomPurpose::kCorruption});
//   const Image foggy = corrupt(photo, find_corruption("fog"), 3, random);
//
// Constants and formulas follow the published sets; the code is our own. Frost is drawn, where the
// paper blends photographs in: its figures are not those of CIFAR-C and ImageNet-C
// (docs/corruptions.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/core/random.h"
#include "protogcd/image/image.h"

namespace protogcd {

constexpr int kCorruptionSeverities = 5;

struct Corruption {
  std::string_view name;
  bool is_random;  ///< whether the result depends on the random numbers
  Image (*apply)(const Image& image, int severity, RandomStream& random);
};

/// All of them, in the paper's order: noise, blur, weather, digital.
std::span<const Corruption> corruptions();
std::vector<std::string> corruption_names();
/// UsageError for an unknown name.
const Corruption& find_corruption(std::string_view name);

/// UsageError unless the severity is 1 to 5.
void check_corruption_severity(std::int64_t severity);

/// An image of the same size. What is drawn depends on nothing but the stream. UsageError for a
/// severity out of range.
Image corrupt(const Image& image, const Corruption& corruption, int severity, RandomStream& random);

}  // namespace protogcd
