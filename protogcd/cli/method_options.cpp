#include "protogcd/cli/method_options.h"

#include <fmt/core.h>

#include <memory>

#include "protogcd/core/text.h"

namespace protogcd::cli {

void declare_method(OptionTable& table, MethodChoice& choice, const std::string& name) {
  choice = find_method(name);
  const auto chosen = std::make_shared<std::string>(name);
  table.begin_group("Run");
  table
      .add_choice<std::string, std::string>(
          kMethodKey, chosen.get(),
          [] {
            std::vector<std::pair<std::string, std::string>> values;
            for (const std::string& known : method_names()) values.emplace_back(known, known);
            return values;
          }(),
          "what is learned, see: protogcd methods")
      .usual();
  // The closure keeps the value alive as long as the table.
  table.explain_unknown([chosen](const std::string& key) -> std::string {
    const auto owners = methods_with_option(key);
    if (owners.empty()) return {};
    return fmt::format(": it is an option of --method {}, and this is {}", join(owners, " or "),
                       *chosen);
  });
}

}  // namespace protogcd::cli
