// Runs the protogcd program as a user would, and gives back what it printed and how it ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace protogcd::testing {

struct ProgramResult {
  int exit_code = -1;  ///< -signal if it was killed
  std::string output;  ///< stdout
  std::string errors;  ///< stderr
};

ProgramResult run_protogcd(const std::vector<std::string>& arguments);
/// The same, with a signal sent as soon as `due` says so (it is asked every millisecond).
ProgramResult signal_protogcd(const std::vector<std::string>& arguments, int signal,
                              const std::function<bool()>& due);
/// Any command, found in PATH.
ProgramResult run_command(const std::vector<std::string>& command);
std::string protogcd_path();
/// The top of the source tree.
std::string source_folder();

}  // namespace protogcd::testing
