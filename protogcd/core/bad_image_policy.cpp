#include "protogcd/core/bad_image_policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {

bool BadImagePolicy::take_limit(std::string_view limit) {
  if (limit == kUsualLimit) {
    // A share alone would let one bad file stop any small folder.
    share_ = 0.01;
    count_ = 5;
    return true;
  }
  if (limit.ends_with('%')) {
    const auto percent = parse_real(limit.substr(0, limit.size() - 1));
    if (!percent || *percent < 0 || *percent > 100) return false;
    share_ = *percent / 100;
    return true;
  }
  const auto count = parse_unsigned(limit);
  count_ = count.value_or(0);
  return count.has_value();
}

bool BadImagePolicy::is_limit(std::string_view limit) {
  return BadImagePolicy().take_limit(limit);
}

BadImagePolicy BadImagePolicy::parse(std::string_view mode, std::string_view limit) {
  BadImagePolicy policy;
  if (mode != "skip" && mode != "fail") {
    throw UsageError(
        fmt::format("{}: '{}', expected skip or fail", option_name("bad_images"), mode));
  }
  policy.fail_ = mode == "fail";
  if (!policy.take_limit(limit)) {
    throw UsageError(
        fmt::format("{}: '{}', expected {}", option_name("max_bad"), limit, kLimitWords));
  }
  return policy;
}

std::size_t BadImagePolicy::allowed(std::size_t total) const {
  if (fail_) return 0;
  // The small term keeps 1% of 300 at 3, whatever the rounding of 0.01.
  const double of_total = std::floor(share_ * static_cast<double>(total) + 1e-9);
  return std::max(count_, static_cast<std::size_t>(of_total));
}

}  // namespace protogcd
