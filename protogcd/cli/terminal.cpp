#include "protogcd/cli/terminal.h"

#include <fmt/core.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

namespace protogcd::cli {
namespace {

constexpr double kLineIntervalSeconds = 10;
constexpr double kBarIntervalSeconds = 0.1;
constexpr int kBarWidth = 24;

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kSilent:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void say_lines(std::string_view lines) {
  for (std::size_t end; (end = lines.find('\n')) != lines.npos; lines.remove_prefix(end + 1))
    fmt::print("{}\n", one_line(lines.substr(0, end)));
  fmt::print("{}", one_line(lines));
}

void say_data(std::string_view lines) {
  if (::isatty(STDOUT_FILENO) == 1) return say_lines(lines);
  fmt::print("{}", lines);
}

std::string flag_of(std::string_view key) {
  return fmt::format("--{}", kebab_case(key));
}

struct StderrLog::Implementation {
  spdlog::logger logger{"protogcd", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
};

StderrLog::StderrLog(bool with_times) : implementation_(std::make_unique<Implementation>()) {
  implementation_->logger.set_level(spdlog::level::debug);
  implementation_->logger.set_pattern(with_times ? "%H:%M:%S.%e %^%l%$ %v" : "%^%l%$: %v");
  implementation_->logger.flush_on(spdlog::level::debug);
}

StderrLog::~StderrLog() = default;

void StderrLog::write(LogLevel level, std::string_view message) {
  implementation_->logger.log(spdlog_level(level), one_line(message));
}

std::string StderrLog::spell(std::string_view key) const {
  return flag_of(key);
}

Logger stderr_log(LogLevel level) {
  return Logger(std::make_shared<StderrLog>(level == LogLevel::kDebug), level);
}

ProgressSink::Pace StreamProgress::pace() const {
  if (bar_) return {.first_seconds = 0, .interval_seconds = kBarIntervalSeconds};
  return {.first_seconds = kLineIntervalSeconds, .interval_seconds = kLineIntervalSeconds};
}

void StreamProgress::show(const ProgressState& state) {
  const std::lock_guard lock(mutex_);
  const std::string task = one_line(state.text);
  if (bar_) {
    const int filled =
        state.total == 0
            ? kBarWidth
            : static_cast<int>(kBarWidth * std::min(state.done, state.total) / state.total);
    std::string text = fmt::format("[{:-<{}}] {}", std::string(filled, '#'), kBarWidth, task);
    const std::size_t width = text.size();
    text.append(shown_width_ > width ? shown_width_ - width : 0, ' ');
    shown_width_ = state.last ? 0 : width;
    fmt::print(stream_, "\r{}{}", text, state.last ? "\n" : "");
  } else {
    fmt::print(stream_, "{}\n", task);
  }
  std::fflush(stream_);
}

void StreamProgress::say(const std::string& news) {
  const std::lock_guard lock(mutex_);
  const std::string line = one_line(news);
  // Over the bar, which the next `show` draws again below.
  const std::size_t covered = shown_width_ > line.size() ? shown_width_ - line.size() : 0;
  fmt::print(stream_, "{}{}{}\n", bar_ ? "\r" : "", line, std::string(bar_ ? covered : 0, ' '));
  shown_width_ = 0;
  std::fflush(stream_);
}

std::shared_ptr<ProgressSink> stderr_progress() {
  return std::make_shared<StreamProgress>(stderr, ::isatty(STDERR_FILENO) == 1);
}

}  // namespace protogcd::cli
