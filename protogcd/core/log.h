// Messages for people, on stderr. Results go to stdout or to files, never through here.
#pragma once

#include <memory>
#include <string_view>

namespace protogcd {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kSilent };

class Logger {
 public:
  explicit Logger(LogLevel level = LogLevel::kInfo);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void debug(std::string_view message) { write(LogLevel::kDebug, message); }
  void info(std::string_view message) { write(LogLevel::kInfo, message); }
  void warning(std::string_view message) { write(LogLevel::kWarning, message); }
  void write(LogLevel level, std::string_view message);
  LogLevel level() const { return level_; }

 private:
  struct Sink;
  LogLevel level_;
  std::unique_ptr<Sink> sink_;
};

}  // namespace protogcd
