// The command line: finds the verb, resolves its options (defaults < file < flags), runs it, turns
// errors into messages and exit codes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "protogcd/cli/verb.h"

namespace protogcd::cli {

/// Runs the program with these arguments (without its own name); returns the exit code.
int run_command_line(const std::vector<std::string>& arguments, const std::vector<Verb>& verbs);

/// An option by its key, and what it is to be: one value, or several of a list.
using KeyedValues = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Runs one verb for a host that is no command line: options by key, the answer as a value (null
/// where the verb has none), errors as they are thrown. Log, progress and stop are the host's;
/// device, threads, seed and the like are options of the verb.
/// Where a value is a list and the option is not, it gets them with commas between.
nlohmann::json call_verb(const Verb& verb, const KeyedValues& options, const Context& host);

/// What `call_verb` would say of these options before it does anything.
void check_verb_call(const Verb& verb, const KeyedValues& options);

/// A verb with its options declared, ready to be parsed, completed or documented.
struct DeclaredVerb {
  /// Of a verb with variants: the one that the arguments (or the files they name) choose.
  explicit DeclaredVerb(const Verb& definition, const std::vector<std::string>& arguments = {});
  DeclaredVerb(const DeclaredVerb&) = delete;

  const Verb& verb;
  CommonOptions common;
  OptionTable table;
  Action action;
  std::string asked_group;  ///< of the variant that a flag names: its help is shown whole
};

/// A verb declared once for each of its variants: what completion offers, and sweeps may set.
class AllVariants {
 public:
  explicit AllVariants(const Verb& verb);
  /// Every option once, whichever variants have it.
  const std::vector<Option*>& options() const { return options_; }
  Option* find(std::string_view key) const;
  std::vector<std::string> file_keys() const;

 private:
  std::vector<std::unique_ptr<DeclaredVerb>> declared_;
  std::vector<Option*> options_;
};

/// Thrown instead of running a verb when `--help` was asked for.
struct HelpRequested {
  std::string text;
};

/// Parses the arguments of one verb into its table, then its --config file. Throws UsageError,
/// ConfigError or HelpRequested.
void resolve_options(DeclaredVerb& declared, const std::vector<std::string>& arguments);

}  // namespace protogcd::cli
