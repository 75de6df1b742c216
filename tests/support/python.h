// A Python with packages that tests compare with; where one is missing, the test is skipped.
#pragma once

#include <string>
#include <vector>

#include "protogcd/core/json.h"

namespace protogcd::testing {

/// The interpreter that tests use; it need not exist.
std::string python_path();

/// What the script prints, as JSON; null where no Python with the package is at hand (`make test`
/// installs those into .venv; the environment's PROTOGCD_PYTHON names another).
nlohmann::json ask_python(const std::string& package, const std::string& script,
                          const std::vector<std::string>& arguments);

}  // namespace protogcd::testing
