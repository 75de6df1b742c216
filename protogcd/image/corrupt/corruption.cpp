#include "protogcd/image/corrupt/corruption.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/image/corrupt/methods.h"

namespace protogcd {
namespace {

// Their order is part of the random keys of `protogcd corrupt`: append, never reorder.
constexpr std::array<Corruption, 15> kCorruptions = {{
    {"gaussian_noise", true, corruption::gaussian_noise},
    {"shot_noise", true, corruption::shot_noise},
    {"impulse_noise", true, corruption::impulse_noise},
    {"defocus_blur", false, corruption::defocus_blur},
    {"glass_blur", true, corruption::glass_blur},
    {"motion_blur", true, corruption::motion_blur},
    {"zoom_blur", false, corruption::zoom_blur},
    {"snow", true, corruption::snow},
    {"frost", true, corruption::frost},
    {"fog", true, corruption::fog},
    {"brightness", false, corruption::brightness},
    {"contrast", false, corruption::contrast},
    {"elastic_transform", true, corruption::elastic_transform},
    {"pixelate", false, corruption::pixelate},
    {"jpeg_compression", false, corruption::jpeg_compression},
}};

}  // namespace

std::span<const Corruption> corruptions() {
  return kCorruptions;
}

std::vector<std::string> corruption_names() {
  std::vector<std::string> names;
  for (const Corruption& corruption : kCorruptions) names.emplace_back(corruption.name);
  return names;
}

const Corruption& find_corruption(std::string_view name) {
  const auto* found = std::ranges::find(kCorruptions, name, &Corruption::name);
  if (found != kCorruptions.end()) return *found;
  const auto names = corruption_names();
  throw UsageError(fmt::format("'{}' is not a corruption{}; known: {}", name,
                               did_you_mean(name, names), join(names, ", ")));
}

void check_corruption_severity(std::int64_t severity) {
  if (severity < 1 || severity > kCorruptionSeverities) {
    throw UsageError(
        fmt::format("severity {} is not within 1 to {}", severity, kCorruptionSeverities));
  }
}

Image corrupt(const Image& image, const Corruption& corruption, int severity,
              RandomStream& random) {
  check_corruption_severity(severity);
  if (image.width <= 0 || image.height <= 0) throw InternalError("corrupting an empty image");
  return corruption.apply(image, severity, random);
}

}  // namespace protogcd
