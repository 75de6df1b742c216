// How far a long task is: a bar with rate and remaining time on a terminal, a plain line now and
// then elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace protogcd {

struct ProgressOptions {
  std::FILE* stream = stderr;
  /// A bar that redraws itself (terminal) or plain lines.
  bool bar = false;
  bool silent = false;
  double line_interval_seconds = 10;  ///< between plain lines
};

/// Options for stderr as it is: a bar if it is a terminal.
ProgressOptions stderr_progress(bool silent = false);

/// Thread-safe: any thread may `add`. `finish` (or the destructor) writes the last state.
class Progress {
 public:
  Progress(std::string task, std::uint64_t total, std::string unit, ProgressOptions options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t count = 1);
  /// A line of its own above the bar: news of the task, shown whatever the interval.
  void say(const std::string& line);
  void finish();

  /// The state in words after so many seconds, e.g. "decode 40% (4,000/10,000 images), 812
  /// images/s, 7.4 s left".
  std::string describe(std::uint64_t done, double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;
  void show(bool last);

  const std::string task_;
  const std::uint64_t total_;
  const std::string unit_;
  const ProgressOptions options_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::int64_t> next_show_ns_{0};
  std::mutex mutex_;
  bool finished_ = false;
  std::size_t shown_width_ = 0;
};

}  // namespace protogcd
