#include "protogcd/run/metrics_file.h"

#include <sstream>

#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/json_lines.h"

namespace protogcd {
namespace {

constexpr const char* kEpoch = "epoch";

}  // namespace

void add_metrics(const std::filesystem::path& file, const nlohmann::json& line) {
  append_line(file, line.dump());
}

void keep_metrics_before(const std::filesystem::path& file, std::int64_t epoch) {
  keep_json_lines_before(file, kEpoch, epoch);
}

std::vector<nlohmann::json> read_metrics(const std::filesystem::path& file) {
  std::vector<nlohmann::json> metrics;
  if (!std::filesystem::exists(file)) return metrics;
  std::istringstream lines(read_text_file(file));
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json json = parse_json_or_discard(line);
    if (json.is_object() && json.contains(kEpoch) && json.at(kEpoch).is_number())
      metrics.push_back(std::move(json));
  }
  return metrics;
}

}  // namespace protogcd
