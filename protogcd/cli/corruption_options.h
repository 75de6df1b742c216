// Which corruptions a verb applies, as texts: "all", "fog,snow"; "1,3,5".
#pragma once

#include <string>
#include <vector>

#include "protogcd/image/corrupt/corruption.h"

namespace protogcd::cli {

/// UsageError, naming --corruptions or --severities, for what there is not.
std::vector<const Corruption*> parse_corruptions(const std::string& text);
/// Rising, whatever their order.
std::vector<int> parse_severities(const std::string& text);

}  // namespace protogcd::cli
