#include "tests/support/python.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/run_program.h"

namespace protogcd::testing {

std::string python_path() {
  const char* chosen = std::getenv("PROTOGCD_PYTHON");
  return chosen != nullptr ? chosen : PROTOGCD_PYTHON;
}

nlohmann::json ask_python(const std::string& package, const std::string& script,
                          const std::vector<std::string>& arguments) {
  const std::string python = python_path();
  if (!std::filesystem::exists(python) ||
      run_command({python, "-c", "import " + package}).exit_code != 0) {
    return nullptr;
  }
  std::vector<std::string> command = {python, "-c", script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto result = run_command(command);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
}

}  // namespace protogcd::testing
