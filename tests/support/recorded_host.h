// A host that writes down what it is told, for tests.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "protogcd/core/context.h"

namespace protogcd::testing {

/// Everything that is said and shown, a line each.
class RecordedHost : public LogSink, public ProgressSink {
 public:
  void write(LogLevel, std::string_view message) override { keep(std::string(message)); }
  void show(const ProgressState& state) override { keep(state.text); }
  void say(const std::string& line) override { keep(line); }

  /// What came since the last call.
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(text_, {});
  }

 private:
  void keep(const std::string& line) {
    const std::lock_guard lock(mutex_);
    text_ += line + "\n";
  }

  std::mutex mutex_;
  std::string text_;
};

}  // namespace protogcd::testing
