#include "protogcd/run/run_notes.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"

namespace protogcd {

RunNotes read_run_notes(const std::filesystem::path& file) {
  const auto json = parse_json_or_discard(read_text_file(file));
  check_format(json, kRunFormat, file.string());
  RunNotes notes;
  if (!json.is_object()) return notes;
  for (const auto& [key, value] : json.items())
    if (value.is_string()) notes.environment[key] = value.get<std::string>();
  if (!json.contains(kRunSettings)) return notes;
  try {
    notes.settings = json.at(kRunSettings).get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw ModelFileError(fmt::format("{}: settings: {}", file.string(), error.what()));
  }
  return notes;
}

}  // namespace protogcd
