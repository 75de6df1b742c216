// The command line: finds the verb, resolves its options (defaults < file < flags), runs it, turns
// errors into messages and exit codes.
#pragma once

#include <string>
#include <vector>

#include "protogcd/cli/verb.h"

namespace protogcd::cli {

/// Runs the program with these arguments (without its own name); returns the exit code.
int run_command_line(const std::vector<std::string>& arguments, const std::vector<Verb>& verbs);

/// A verb with its options declared, ready to be parsed, completed or documented.
struct DeclaredVerb {
  explicit DeclaredVerb(const Verb& definition);
  DeclaredVerb(const DeclaredVerb&) = delete;

  const Verb& verb;
  CommonOptions common;
  OptionTable table;
  Action action;
};

/// Thrown instead of running a verb when `--help` was asked for.
struct HelpRequested {
  std::string text;
};

/// Parses the arguments of one verb into its table, then its --config file. Throws UsageError,
/// ConfigError or HelpRequested.
void resolve_options(DeclaredVerb& declared, const std::vector<std::string>& arguments);

}  // namespace protogcd::cli
