#include "protogcd/cli/command_line.h"
#include "protogcd/cli/verbs.h"

int main(int argc, char** argv) {
  return protogcd::cli::run_command_line({argv + 1, argv + argc}, protogcd::cli::all_verbs());
}
