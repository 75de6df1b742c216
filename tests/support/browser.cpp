#include "tests/support/browser.h"

#include "tests/support/run_program.h"

namespace protogcd::testing {

std::string chromium_path() {
  const auto found =
      run_command({"sh", "-c", "command -v chromium || command -v chromium-browser"});
  return found.exit_code == 0 ? found.output.substr(0, found.output.find('\n')) : "";
}

}  // namespace protogcd::testing
