// A real browser for tests of the report page.
#pragma once

#include <string>

namespace protogcd::testing {

/// A Chromium in PATH; empty where there is none.
std::string chromium_path();

}  // namespace protogcd::testing
