// How the command line speaks to people: messages on stderr, and for long tasks a bar with rate and
// remaining time on a terminal, a plain line now and then elsewhere.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "protogcd/core/log.h"
#include "protogcd/core/progress.h"

namespace protogcd::cli {

/// How the command line spells an option in a message: --k-max.
std::string flag_of(std::string_view key);

/// Messages on stderr, coloured on a terminal.
class StderrLog : public LogSink {
 public:
  explicit StderrLog(bool with_times);
  ~StderrLog() override;
  void write(LogLevel level, std::string_view message) override;
  std::string spell(std::string_view key) const override;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// The log of a program that was asked for this level.
Logger stderr_log(LogLevel level);

class StreamProgress : public ProgressSink {
 public:
  /// `bar`: one that redraws itself (terminal), or plain lines.
  StreamProgress(std::FILE* stream, bool bar) : stream_(stream), bar_(bar) {}

  Pace pace() const override;
  void show(const ProgressState& state) override;
  void say(const std::string& line) override;

 private:
  std::FILE* stream_;
  const bool bar_;
  std::mutex mutex_;
  std::size_t shown_width_ = 0;  ///< of the bar that stands on the last line
};

/// On stderr as it is: a bar if it is a terminal.
std::shared_ptr<ProgressSink> stderr_progress();

}  // namespace protogcd::cli
