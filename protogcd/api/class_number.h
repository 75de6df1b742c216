// Public: how many classes are there among half-labelled images?
#pragma once

#include "protogcd/api/discover.h"
#include "protogcd/run/class_number.h"

namespace protogcd {

/// As `discover` estimates it where `k` is not given; nothing is written (`out` may be empty).
ClassNumber estimate_class_number(const DiscoverRequest& request, const Context& context = {});

}  // namespace protogcd
