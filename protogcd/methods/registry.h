// The methods there are, by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/methods/method_options.h"

namespace protogcd {

struct RegisteredMethod {
  std::string name;
  std::string summary;  ///< one line for `protogcd methods`
  std::unique_ptr<MethodOptions> (*options)();
};

/// The first is the default.
const std::vector<RegisteredMethod>& registered_methods();
std::vector<std::string> method_names();
/// Those that train.
std::vector<std::string> trained_method_names();
/// Its options at their defaults. UsageError, naming the known ones, where there is none.
MethodChoice find_method(std::string_view name);
/// The methods that have an option of this key: who tells one method another's option is told.
std::vector<std::string> methods_with_option(std::string_view key);

}  // namespace protogcd
