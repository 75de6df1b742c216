// Public. Messages for people. A host says where they go; results never pass through here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "protogcd/core/option_name.h"

namespace protogcd {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kSilent };

/// Where messages go: stderr for the command line, whatever it likes for another host. May be
/// called by several threads at once.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(LogLevel level, std::string_view message) = 0;
  /// How options in messages are spelled.
  virtual std::string spell(std::string_view key) const { return std::string(key); }
};

/// A value: copies speak to the same sink. Without a sink it is silent.
class Logger {
 public:
  Logger() = default;
  explicit Logger(std::shared_ptr<LogSink> sink, LogLevel level = LogLevel::kInfo)
      : sink_(std::move(sink)), level_(level) {}

  void debug(std::string_view message) const { write(LogLevel::kDebug, message); }
  void info(std::string_view message) const { write(LogLevel::kInfo, message); }
  void warning(std::string_view message) const { write(LogLevel::kWarning, message); }
  void write(LogLevel level, std::string_view message) const {
    if (sink_ == nullptr || level < level_ || level >= LogLevel::kSilent) return;
    sink_->write(level, spelled(message, [&](std::string_view key) { return sink_->spell(key); }));
  }

 private:
  std::shared_ptr<LogSink> sink_;
  LogLevel level_ = LogLevel::kSilent;  ///< what is below it is not passed on
};

}  // namespace protogcd
