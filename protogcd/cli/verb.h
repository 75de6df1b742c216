// What a verb of the command line is: a name, help, options and an action. One file per verb makes
// one.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/context.h"
#include "protogcd/core/machine_options.h"
#include "protogcd/core/options.h"

namespace protogcd::cli {

/// Flags that every verb takes.
struct CommonOptions : MachineOptions {
  std::filesystem::path config;
  std::string log_level = "info";
  bool json = false;
};

void declare_common_options(OptionTable& table, CommonOptions& options);

/// What an action works with once all options are resolved.
struct Session {
  Context context;
  const CommonOptions& common;
  const OptionTable& options;
  /// Of a host that is no command line: how it stops work, and what takes the object of `--json`
  /// instead of stdout.
  std::optional<StopToken> host_stop = {};
  std::function<void(const nlohmann::json&)> answer = {};

  bool json() const { return common.json; }
  /// What --bad-images and --max-bad say.
  BadImagePolicy bad_image_policy() const {
    return BadImagePolicy::parse(common.bad_images, common.max_bad);
  }
  /// The one JSON object of `--json`, on stdout or to the host.
  void print_json(const nlohmann::json& object) const;
};

using Action = std::function<void(Session&)>;

struct Verb {
  std::string name;     ///< "datasets split": words are nested commands
  std::string summary;  ///< one line of `--help`
  std::string example;  ///< a command that works, shown at the end of its help
  /// Adds the verb's options to the table and returns what to do when they are resolved.
  std::function<Action(OptionTable&)> declare = {};
  /// Instead, where further options depend on the value of one: that one's key, the values it can
  /// have (the first is the default), and the declaration for one of them.
  std::string variant_key = {};
  std::vector<std::string> variants = {};
  /// A switch that stands for one of the values.
  struct VariantSwitch {
    std::string key, variant;
  };
  std::optional<VariantSwitch> variant_switch = {};
  std::string variant_group = {};  ///< the help's group of a variant's options is this and its name
  std::function<Action(OptionTable&, const std::string& variant)> declare_variant = {};
};

}  // namespace protogcd::cli
