#include "tests/support/tensorboard.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/run_program.h"

namespace protogcd::testing {

nlohmann::json read_by_tensorboard(const std::filesystem::path& folder) {
  const char* chosen = std::getenv("PROTOGCD_PYTHON");
  const std::string python = chosen != nullptr ? chosen : PROTOGCD_PYTHON;
  if (!std::filesystem::exists(python) ||
      run_command({python, "-c", "import tensorboard"}).exit_code != 0) {
    return nullptr;
  }
  const auto result = run_command(
      {python, "-c",
       "import json, sys\n"
       "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
       "reader = EventAccumulator(sys.argv[1])\n"
       "reader.Reload()\n"
       "print(json.dumps({tag: [[p.step, p.value] for p in reader.Scalars(tag)]\n"
       "                  for tag in reader.Tags()['scalars']}))\n",
       folder});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return nlohmann::json::parse(result.output);
}

}  // namespace protogcd::testing
