// A program started beside this one, its output kept in files.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/file_lock.h"

namespace protogcd {

/// Ends with this process, whatever ends it (SIGTERM), and does not see its terminal's Ctrl-C: who
/// started it decides what it is told, once. It is alone, though this process may be one of several
/// that a launcher began.
class ChildProcess {
 public:
  /// `words`: the program's path and its arguments. `output` is written anew, `log` is added to.
  /// `lock`, where given, is held until both have ended. FileError if it cannot be started.
  ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& output,
               const std::filesystem::path& log, const FileLock* lock = nullptr);
  ~ChildProcess();  ///< ends it if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The exit code once it has ended (128 + the number of a signal); never waits.
  std::optional<int> ended();
  /// Asks it to stop (SIGTERM).
  void ask_to_stop() const;

 private:
  pid_t process_ = 0;
  std::optional<int> exit_code_;
};

/// "ended by signal 9 (Killed)", where that is what its exit code says.
std::optional<std::string> ended_by_signal(int exit_code);

}  // namespace protogcd
