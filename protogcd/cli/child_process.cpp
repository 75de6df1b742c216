#include "protogcd/cli/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "protogcd/core/error.h"

extern char** environ;

namespace protogcd::cli {

ChildProcess::ChildProcess(std::vector<std::string> command) : name_(command.at(0)) {
  // A socket rather than pipes: writing to a program that has ended is then an error, no signal.
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw DeviceError(fmt::format("no connection to '{}': {}", name_, std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error =
      posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    throw UsageError(fmt::format("'{}' cannot be started: {}", name_, std::strerror(error)));
  }
  socket_ = ends[0];
}

ChildProcess::~ChildProcess() {
  ::close(socket_);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::say(const std::string& line) {
  const std::string text = line + "\n";
  if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(text.size())) {
    throw UsageError(fmt::format("'{}' has ended", name_));
  }
}

std::string ChildProcess::answer() {
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      const std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    std::array<char, 256> bytes{};
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw UsageError(fmt::format("'{}' has ended without an answer", name_));
    received_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace protogcd::cli
