#include "tests/support/run_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

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

namespace {

ProgramResult run(const std::vector<std::string>& command,
                  const std::function<int(pid_t)>& wait_for) {
  const TemporaryFolder folder;
  const auto output = folder / "stdout", errors = folder / "stderr";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_CREAT | O_WRONLY,
                                   0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_CREAT | O_WRONLY,
                                   0600);
  // Whatever started this test may ignore Ctrl-C, and the program would inherit that.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t process = 0;
  const int error = posix_spawnp(&process, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + command.front());
  const int status = wait_for(process);
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .output = read_text_file(output),
          .errors = read_text_file(errors)};
}

int wait_for_end(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return status;
}

std::vector<std::string> protogcd_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {protogcd_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

ProgramResult run_command(const std::vector<std::string>& command) {
  return run(command, wait_for_end);
}

ProgramResult run_protogcd(const std::vector<std::string>& arguments) {
  return run_command(protogcd_command(arguments));
}

ProgramResult signal_protogcd(const std::vector<std::string>& arguments, int signal,
                              const std::function<bool()>& due) {
  return run(protogcd_command(arguments), [&](pid_t process) {
    int status = 0;
    while (waitpid(process, &status, WNOHANG) == 0) {
      if (due()) {
        ::kill(process, signal);
        return wait_for_end(process);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status;
  });
}

}  // namespace protogcd::testing
