// metrics.jsonl: what a run measures, a JSON object a line, an epoch each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace protogcd {

/// Adds one line, on disk when it returns.
void add_metrics(const std::filesystem::path& file, const nlohmann::json& line);
/// Drops the lines of epochs from this one on: a resumed run writes them again.
void keep_metrics_before(const std::filesystem::path& file, std::int64_t epoch);

/// The lines of epochs, in their order; none where there is no file. What is no line of an epoch is
/// left out: the last may have been cut short.
std::vector<nlohmann::json> read_metrics(const std::filesystem::path& file);

}  // namespace protogcd
