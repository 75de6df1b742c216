// How the command line speaks to people: results on stdout, messages on stderr, and for long tasks
// a bar with rate and remaining time on a terminal, a plain line now and then elsewhere. Whatever a
// file or a class is called, a terminal is shown text alone (one_line of core/text.h).
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

#include "protogcd/core/log.h"
#include "protogcd/core/progress.h"
#include "protogcd/core/text.h"

namespace protogcd::cli {

template <class Value>
using Shown =
    std::conditional_t<std::is_convertible_v<const Value&, std::string_view>, std::string, Value>;

/// A line of a verb's answer on stdout, as fmt::print: a text among the values stays one line.
template <class... Values>
void say(fmt::format_string<const Shown<Values>&...> format, const Values&... values) {
  [[maybe_unused]] const auto shown = [](const auto& value) -> decltype(auto) {
    if constexpr (std::is_convertible_v<decltype(value), std::string_view>)
      return one_line(value);
    else
      return (value);
  };
  const auto print = [&](const auto&... texts) {
    fmt::vprint(format, fmt::make_format_args(texts...));
  };
  print(shown(values)...);
}
/// Several lines, each with its end.
void say_lines(std::string_view lines);
/// JSON or CSV: as it is for programs and files, as `say_lines` has it on a terminal.
void say_data(std::string_view lines);

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
