// `--method`, declared once for all verbs that train.
#pragma once

#include <string>

#include "protogcd/core/options.h"
#include "protogcd/methods/registry.h"

namespace protogcd::cli {

inline constexpr const char* kMethodKey = "method";

/// Declares --method, puts the method of this name in `choice`'s place, and lets the table say
/// whose option it is where another method's is used.
void declare_method(OptionTable& table, MethodChoice& choice, const std::string& name);

}  // namespace protogcd::cli
