#include "protogcd/cli/method_options.h"

#include <fmt/core.h>

#include <memory>

#include "protogcd/core/text.h"
#include "protogcd/discovery/train_options.h"

namespace protogcd::cli {

namespace {

/// Whether a method lacks this option because it does not train.
bool is_of_training(const std::string& key, const std::string& method) {
  if (find_method(method)->trains()) return false;
  const auto usual = std::make_unique<TrainOptions>();
  OptionTable table;
  declare_train_options(table, *usual);
  return table.find(key) != nullptr;
}

}  // namespace

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
    if (owners.empty())
      return is_of_training(key, *chosen) ? fmt::format(": {} does not train", *chosen) : "";
    return fmt::format(": it is an option of --method {}, and this is {}", join(owners, " or "),
                       *chosen);
  });
}

}  // namespace protogcd::cli
