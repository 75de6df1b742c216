// nlohmann's JSON, compiled once (json.cpp) instead of in every file that uses it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

extern template class nlohmann::basic_json<>;

namespace protogcd {

/// Throws nlohmann::json::exception; also where values are nested deeper than 100.
nlohmann::json parse_json(std::string_view text);
/// JSON holds UTF-8 alone.
bool is_utf8(std::string_view text);
/// What counts something in a file of ours. DataError names what it is where it is no whole number
/// from 0 to 10^15, which sums can do no harm with.
std::int64_t count_of(const nlohmann::json& value, const char* what);
/// nlohmann's exceptions where the key is missing.
template <class Number = std::int64_t>
Number count_at(const nlohmann::json& json, const char* key) {
  return static_cast<Number>(count_of(json.at(key), key));
}
/// `otherwise` where the key is missing.
template <class Number>
Number count_at(const nlohmann::json& json, const char* key, Number otherwise) {
  return json.contains(key) ? count_at<Number>(json, key) : otherwise;
}

/// What is not JSON is discarded (`is_discarded()`).
nlohmann::json parse_json_or_discard(std::string_view text);

/// Key of the number of a file's format; files without one are of format 1.
inline constexpr const char* kFormatKey = "format";
/// ModelFileError that names the file where its format is later than `latest`.
void check_format(const nlohmann::json& json, int latest, std::string_view file,
                  std::string_view hint = "use that version");

}  // namespace protogcd
