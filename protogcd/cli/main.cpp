#include "protogcd/cli/command_line.h"
#include "protogcd/cli/launch.h"
#include "protogcd/cli/verbs.h"

int main(int argc, char** argv) {
  protogcd::cli::give_back_library_path();
  return protogcd::cli::run_command_line({argv + 1, argv + argc}, protogcd::cli::all_verbs());
}
