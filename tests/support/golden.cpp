#include "tests/support/golden.h"

#include <cstdlib>

#include "protogcd/core/files.h"

namespace protogcd::testing {

std::filesystem::path golden_folder() {
  const char* folder = std::getenv("PROTOGCD_GOLDEN");
  return folder != nullptr ? std::filesystem::path(folder)
                           : std::filesystem::path(PROTOGCD_SOURCE_DIR) / "tests/golden";
}

nlohmann::json golden_json() {
  return nlohmann::json::parse(read_text_file(golden_folder() / "golden.json"));
}

nlohmann::json baselines_json() {
  return nlohmann::json::parse(read_text_file(golden_folder() / "baselines" / "baselines.json"));
}

}  // namespace protogcd::testing
