#define TOML_IMPLEMENTATION
#include "protogcd/core/toml_checked.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"

namespace protogcd {

toml::table parse_toml(std::string_view text, const std::string& name) {
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
