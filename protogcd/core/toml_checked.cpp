#define TOML_IMPLEMENTATION
#include "protogcd/core/toml_checked.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

/// The first line whose key has more parts than any of ours (`a.b.c = 1`): a table is made within
/// a table for each, and taking a hundred thousand apart recursively would exhaust the stack. Dots
/// in quoted text and comments do not count, and what ends a value ends a key.
std::optional<std::size_t> line_of_deep_key(std::string_view text) {
  constexpr int kMostParts = 100;
  int dots = 0;
  std::size_t line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '"' || letter == '\'') {
      const std::string mark(3, letter);
      const bool several_lines = text.substr(i).starts_with(mark);
      if (several_lines) i += 2;
      for (++i; i < text.size(); ++i) {
        if (text[i] == '\n') ++line;
        if (text[i] == '\\' && letter == '"') {
          ++i;
        } else if (several_lines ? text.substr(i).starts_with(mark)
                                 : text[i] == letter || text[i] == '\n') {
          break;
        }
      }
      if (several_lines) i += 2;
    } else if (letter == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (letter == '.') {
      if (++dots > kMostParts) return line;
    } else if (std::string_view(",=[]{}\n").find(letter) != std::string_view::npos) {
      dots = 0;
      if (letter == '\n') ++line;
    }
  }
  return std::nullopt;
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& name) {
  if (const auto line = line_of_deep_key(text))
    throw ConfigError(fmt::format("{}:{}: a key of too many parts", name, *line));
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw ConfigError(
        fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  } catch (const std::logic_error&) {  // an assumption of the parser that the text broke
    throw ConfigError(fmt::format("{}: not valid TOML", name));
  }
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return fmt::format("{}", integer->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  if (const auto* boolean = node.as_boolean()) return boolean->get() ? "true" : "false";
  return std::nullopt;
}

}  // namespace protogcd
