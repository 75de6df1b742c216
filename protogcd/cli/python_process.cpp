#include "protogcd/cli/python_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "protogcd/core/error.h"

extern char** environ;

namespace protogcd::cli {
namespace {

/// Both ends are closed in programs that this one starts.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw InternalError("cannot make a pipe");
  return ends;
}

}  // namespace

PythonProcess::PythonProcess(const std::string& python, const std::string& script,
                             const std::vector<std::string>& arguments, std::string needs)
    : python_(python), needs_(std::move(needs)) {
  std::signal(SIGPIPE, SIG_IGN);  // a script that has ended is an error of ours to report
  const auto to_script = make_pipe(), from_script = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_script[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_script[1], STDOUT_FILENO);
  std::vector<std::string> command = {python, "-c", script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (auto& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  const int error = posix_spawnp(&process_, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(to_script[0]);
  ::close(from_script[1]);
  input_ = ::fdopen(to_script[1], "w");
  output_ = ::fdopen(from_script[0], "r");
  if (error != 0) process_ = 0;
}

PythonProcess::~PythonProcess() {
  std::fclose(input_);
  std::fclose(output_);
  int status = 0;
  while (process_ > 0 && ::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
}

std::string PythonProcess::read_line() {
  std::string line;
  for (int c = 0; (c = std::fgetc(output_)) != EOF;) {
    if (c == '\n') return line;
    line.push_back(static_cast<char>(c));
  }
  throw UsageError(fmt::format("--python: '{}' failed", python_),
                   fmt::format("it must be a Python interpreter that can import {}", needs_));
}

std::string PythonProcess::ask(const std::string& line) {
  std::fputs((line + "\n").c_str(), input_);
  std::fflush(input_);
  return read_line();
}

}  // namespace protogcd::cli
