// A dataset as the rest of the program sees it: where each image is, what is known about it, which
// set it is in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace protogcd {

enum class SampleSet : std::uint8_t { kLabelled, kUnlabelled, kTest };

std::string_view sample_set_name(SampleSet set);

}  // namespace protogcd
