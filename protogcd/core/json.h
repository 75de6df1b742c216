// nlohmann's JSON, compiled once (json.cpp) instead of in every file that uses it.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

extern template class nlohmann::basic_json<>;

namespace protogcd {

/// Throws nlohmann::json::exception; also where values are nested deeper than 100.
nlohmann::json parse_json(std::string_view text);
/// JSON holds UTF-8 alone.
bool is_utf8(std::string_view text);
/// What is not JSON is discarded (`is_discarded()`).
nlohmann::json parse_json_or_discard(std::string_view text);

}  // namespace protogcd
