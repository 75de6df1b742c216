#include "tests/support/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "protogcd/core/files.h"
#include "tests/support/temporary_folder.h"

extern char** environ;

namespace protogcd::testing {

std::string protogcd_path() {
  return PROTOGCD_PROGRAM;
}

std::string source_folder() {
  return PROTOGCD_SOURCE_DIR;
}

ProgramResult run_command(const std::vector<std::string>& command) {
  const TemporaryFolder folder;
  const auto output = folder / "stdout", errors = folder / "stderr";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_CREAT | O_WRONLY,
                                   0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_CREAT | O_WRONLY,
                                   0600);
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t process = 0;
  const int error = posix_spawnp(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + command.front());
  int status = 0;
  waitpid(process, &status, 0);
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .output = read_text_file(output),
          .errors = read_text_file(errors)};
}

ProgramResult run_protogcd(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {protogcd_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(command);
}

}  // namespace protogcd::testing
