#include "protogcd/core/json.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"

template class nlohmann::basic_json<>;

namespace protogcd {

namespace {

// Parsing needs no stack, but copying a value and writing it do: of a file's ten million brackets
// they would die. Nothing of ours is nested deeper than ten.
constexpr int kDeepest = 100;

struct TooDeep : nlohmann::json::exception {
  TooDeep() : exception(0, "nested too deep") {}
};

bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quoted) {
      if (letter == '\\') ++i;
      if (letter == '"') quoted = false;
    } else if (letter == '"') {
      quoted = true;
    } else if (letter == '[' || letter == '{') {
      if (++depth > kDeepest) return true;
    } else if (letter == ']' || letter == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  if (is_too_deep(text)) throw TooDeep();
  return nlohmann::json::parse(text);
}

nlohmann::json parse_json_or_discard(std::string_view text) {
  if (is_too_deep(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::int64_t count_of(const nlohmann::json& value, const char* what) {
  constexpr std::int64_t kMost = 1'000'000'000'000'000;
  if (!value.is_number_integer() || value < 0 || value > kMost)
    throw DataError(fmt::format("'{}' is no count", what));
  return value.get<std::int64_t>();
}

void check_format(const nlohmann::json& json, int latest, std::string_view file,
                  std::string_view hint) {
  if (!json.is_object() || !json.contains(kFormatKey)) return;
  const nlohmann::json& format = json.at(kFormatKey);
  if (format.is_number_integer() && format <= latest) return;
  throw ModelFileError(
      fmt::format("{}: format {} is not known: a newer protogcd wrote it, this one "
                  "reads formats up to {}",
                  file, format.dump(), latest),
      std::string(hint));
}

}  // namespace protogcd
