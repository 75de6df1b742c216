#include "protogcd/core/context.h"

#include "protogcd/core/option_name.h"
#include "protogcd/core/text.h"

namespace protogcd {

std::string Context::command_line(
    std::initializer_list<std::pair<std::string_view, std::string>> options) const {
  std::string line = command;
  for (const auto& [key, value] : options) {
    if (!line.empty()) line += ' ';
    line += option_name(key);
    if (!value.empty()) line += ' ' + shell_word(value);
  }
  return line;
}

}  // namespace protogcd
