// Ctrl-C that loses nothing: the first asks the work to stop at its next good moment, the second
// ends the program at once.
#pragma once

#include <optional>

#include "protogcd/core/stop.h"

namespace protogcd::cli {

/// While it lives, SIGINT and SIGTERM set a flag that long work looks at between two steps (give
/// its `token` to `Context::stop`), save what it has, and throw InterruptedError. A line on stderr
/// says so to the user. A second signal leaves with exit code 128 + its number (130 for Ctrl-C).
///
/// Signals belong to the whole process, so one guard may live at a time (InternalError). A signal
/// that the program was started to ignore (nohup, background jobs of scripts) stays ignored.
class InterruptGuard {
 public:
  /// Where a host has a token of its own, signals are the host's matter, and nothing is guarded.
  explicit InterruptGuard(const std::optional<StopToken>& of_host);
  InterruptGuard() : InterruptGuard(std::nullopt) {}
  ~InterruptGuard();  ///< what was in force before is so again
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const StopToken& token() const { return token_; }
  /// Whether a signal has come. Cheap, from any thread.
  bool interrupted() const { return token_.stop_requested(); }

 private:
  const bool guards_;
  StopToken token_;
};

}  // namespace protogcd::cli
