// TOML and flags into an option table: any input is accepted or refused with a usage or
// configuration error.
#include <cstdint>
#include <filesystem>
#include <string>

#include "protogcd/cli/command_line.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace {

using namespace protogcd;

enum class Choice { kFirst, kSecond };

struct Values {
  bool flag = false;
  std::int64_t count = 1;
  std::uint64_t seed = 0;
  double weight = 0.5;
  std::string name;
  std::filesystem::path folder;
  std::vector<std::string> sets;
  std::optional<std::int64_t> k;
  std::optional<double> threshold;
  std::optional<bool> wanted;
  Choice choice = Choice::kFirst;
};

cli::Verb verb_with(Values& values) {
  return {.name = "fuzz",
          .summary = "",
          .example = "",
          .declare = [&](OptionTable& table) -> cli::Action {
            table.add("flag", &values.flag, "");
            table.add("count", &values.count, "").at_least(1).at_most(100);
            table.add("number_seed", &values.seed, "");
            table.add("weight", &values.weight, "").above(0);
            table.add("name", &values.name, "").one_of({"one", "two"});
            table.add("folder", &values.folder, "");
            table.add("sets", &values.sets, "");
            table.add("k", &values.k, "").at_least(2);
            table.add("threshold", &values.threshold, "").alias("limit");
            table.add("wanted", &values.wanted, "");
            table.add_choice<Choice, Choice>(
                "choice", &values.choice, {{"first", Choice::kFirst}, {"second", Choice::kSecond}},
                "");
            return [](cli::Session&) {};
          }};
}

}  // namespace

/// The first byte chooses the layer: TOML text, or arguments separated by newlines.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Values values;
  const cli::Verb verb = verb_with(values);
  cli::DeclaredVerb declared(verb);
  try {
    if (data[0] == 'T') {
      declared.table.apply_toml(text, "fuzz.toml");
      // What was accepted must read back as the same configuration.
      const std::string resolved = declared.table.to_toml();
      Values again_values;
      const cli::Verb again_verb = verb_with(again_values);
      cli::DeclaredVerb again(again_verb);
      again.table.apply_toml(resolved, "resolved.toml");
      if (again.table.to_toml() != resolved) __builtin_trap();
    } else if (text.find("config") == std::string::npos) {  // would read a file of that name
      cli::resolve_options(declared, split(text, '\n'));
    }
  } catch (const UsageError&) {
  } catch (const ConfigError&) {
  } catch (const cli::HelpRequested&) {
  }
  return 0;
}
