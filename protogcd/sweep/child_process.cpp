#include "protogcd/sweep/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "protogcd/core/error.h"
#include "protogcd/core/launched_process.h"

namespace protogcd {
namespace {

constexpr int kSignals = 128;  // the exit code of one that a signal ended, less the signal's number

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignals + WTERMSIG(status);
}

int open_for_writing(const std::filesystem::path& path, int how) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644);
  if (file < 0)
    throw FileError(fmt::format("{}: cannot write: {}", path.string(), std::strerror(errno)));
  return file;
}

/// As the kernel takes them.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Between fork and exec: nothing here allocates or locks.
[[noreturn]] void become(char* const* words, char* const* environment, int input, int output,
                         int log, int lock, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it ended before the line above
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (lock >= 0) ::fcntl(lock, F_SETFD, 0);  // stays open
  ::execve(words[0], words, environment);
  ::_exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words,
                           const std::filesystem::path& output, const std::filesystem::path& log,
                           const FileLock* lock) {
  if (::access(words.front().c_str(), X_OK) != 0)
    throw FileError(fmt::format("{}: cannot run: {}", words.front(), std::strerror(errno)));
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output_file = open_for_writing(output, O_TRUNC);
  const int log_file = open_for_writing(log, O_APPEND);
  const std::vector<std::string> variables = environment_without_launcher();
  const std::vector<char*> arguments = pointers_to(words), environment = pointers_to(variables);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    become(arguments.data(), environment.data(), input, output_file, log_file,
           lock == nullptr ? -1 : lock->descriptor(), parent);
  }
  const int error = errno;
  for (const int file : {input, output_file, log_file}) ::close(file);
  if (process_ < 0)
    throw FileError(fmt::format("cannot start a process: {}", std::strerror(error)));
}

ChildProcess::~ChildProcess() {
  if (exit_code_) return;
  ask_to_stop();
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
}

std::optional<int> ChildProcess::ended() {
  if (exit_code_) return exit_code_;
  int status = 0;
  const pid_t answer = ::waitpid(process_, &status, WNOHANG);
  if (answer == process_) exit_code_ = exit_code_of(status);
  if (answer < 0 && errno == ECHILD) exit_code_ = 127;  // nobody can say how it ended
  return exit_code_;
}

void ChildProcess::ask_to_stop() const {
  ::kill(process_, SIGTERM);
}

std::optional<std::string> ended_by_signal(int exit_code) {
  const int signal = exit_code - kSignals;
  if (signal <= 0) return std::nullopt;
  return fmt::format("ended by signal {} ({})", signal, ::strsignal(signal));
}

}  // namespace protogcd
