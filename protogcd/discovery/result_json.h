// result.json: what a run found.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protogcd/discovery/train.h"

namespace protogcd {

nlohmann::json to_json(const TrainSummary& summary, const std::filesystem::path& out);
/// Of several runs: mean and standard deviation (of a sample) of the accuracies, and each.
nlohmann::json summary_of(const std::vector<nlohmann::json>& runs);
/// As it stands in the file.
std::string result_text(const nlohmann::json& result);

}  // namespace protogcd
