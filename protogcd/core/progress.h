// Public. How far a long task is: counted here, shown by the host.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace protogcd {

/// A task at one moment.
struct ProgressState {
  const std::string& task;
  std::uint64_t done = 0, total = 0;
  const std::string& unit;
  double seconds = 0;       ///< since it began
  const std::string& text;  ///< all of it in words
  bool last = false;        ///< the task is over
};

/// How a host shows tasks. Calls for one task come one at a time; several tasks may live at once.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;

  /// When a task is shown: this long after it began, then this often, and at its end.
  struct Pace {
    double first_seconds = 0;
    double interval_seconds = 0.1;
  };
  virtual Pace pace() const { return {}; }
  virtual void show(const ProgressState& state) = 0;
  /// News of a task, shown whatever the pace.
  virtual void say(const std::string& line) = 0;
};

/// Thread-safe: any thread may `add`. `finish` (or the destructor) shows the last state.
class Progress {
 public:
  /// Without a sink nothing is shown.
  Progress(std::string task, std::uint64_t total, std::string unit,
           std::shared_ptr<ProgressSink> sink);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t count = 1);
  /// A line of its own: news of the task, shown whatever the interval.
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
  const std::shared_ptr<ProgressSink> sink_;
  const ProgressSink::Pace pace_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::int64_t> next_show_ns_{0};
  std::mutex mutex_;
  bool finished_ = false;
};

}  // namespace protogcd
