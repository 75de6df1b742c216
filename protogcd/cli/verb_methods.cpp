// `protogcd methods`: what can be learned by.
#include <fmt/core.h>

#include <algorithm>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/json.h"
#include "protogcd/methods/registry.h"

namespace protogcd::cli {
namespace {

void list_methods(Session& session) {
  nlohmann::json json = nlohmann::json::array();
  std::size_t width = 0;
  for (const RegisteredMethod& method : registered_methods()) {
    json.push_back({{"name", method.name}, {"summary", method.summary}});
    width = std::max(width, method.name.size());
  }
  if (session.json()) return session.print_json({{"methods", json}});
  for (const RegisteredMethod& method : registered_methods())
    say("{:{}}  {}\n", method.name, width, method.summary);
  say("\nits options: protogcd train --method NAME --help-all\n");
}

}  // namespace

Verb methods_verb() {
  return {.name = "methods",
          .summary = "list the methods that train and discover can use",
          .example = "protogcd methods",
          .declare = [](OptionTable&) -> Action { return list_methods; }};
}

}  // namespace protogcd::cli
