#include "protogcd/core/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "protogcd/core/text.h"

namespace protogcd {
namespace {

constexpr double kBarIntervalSeconds = 0.1;
constexpr int kBarWidth = 24;

/// 1234567 -> "1,234,567"
std::string with_separators(std::uint64_t value) {
  return value < 1000 ? fmt::format("{}", value)
                      : fmt::format("{},{:03}", with_separators(value / 1000), value % 1000);
}

}  // namespace

ProgressOptions stderr_progress(bool silent) {
  return {.stream = stderr, .bar = ::isatty(STDERR_FILENO) == 1, .silent = silent};
}

Progress::Progress(std::string task, std::uint64_t total, std::string unit, ProgressOptions options)
    : task_(std::move(task)), total_(total), unit_(std::move(unit)), options_(options) {
  const double first = options_.bar ? 0 : options_.line_interval_seconds;
  next_show_ns_ = static_cast<std::int64_t>(first * 1e9);
}

Progress::~Progress() {
  finish();
}

void Progress::add(std::uint64_t count) {
  done_ += count;
  if (options_.silent) return;
  const std::int64_t now = std::chrono::nanoseconds(Clock::now() - start_).count();
  std::int64_t due = next_show_ns_;
  const double interval = options_.bar ? kBarIntervalSeconds : options_.line_interval_seconds;
  // Only the thread that moves the due time on draws.
  if (now >= due &&
      next_show_ns_.compare_exchange_strong(due, now + static_cast<std::int64_t>(interval * 1e9))) {
    show(false);
  }
}

void Progress::say(const std::string& line) {
  if (options_.silent) return;
  const std::lock_guard lock(mutex_);
  // Over the bar, which the next `add` draws again below.
  const std::size_t covered = shown_width_ > line.size() ? shown_width_ - line.size() : 0;
  fmt::print(options_.stream, "{}{}{}\n", options_.bar ? "\r" : "", line,
             std::string(options_.bar ? covered : 0, ' '));
  shown_width_ = 0;
  std::fflush(options_.stream);
}

void Progress::finish() {
  if (!options_.silent) show(true);
}

std::string Progress::describe(std::uint64_t done, double seconds) const {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text =
      fmt::format("{} {}% ({}/{} {})", task_, total_ == 0 ? 100 : done * 100 / total_,
                  with_separators(done), with_separators(total_), unit_);
  if (rate > 0) text += fmt::format(", {:.{}f} {}/s", rate, rate < 10 ? 1 : 0, unit_);
  if (done >= total_) return text + fmt::format(", took {}", human_seconds(seconds));
  if (rate > 0)
    text += fmt::format(", {} left", human_seconds(static_cast<double>(total_ - done) / rate));
  return text;
}

void Progress::show(bool last) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = last;
  const std::uint64_t done = done_;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string text = describe(done, seconds);
  if (options_.bar) {
    const int filled =
        total_ == 0 ? kBarWidth : static_cast<int>(kBarWidth * std::min(done, total_) / total_);
    text = fmt::format("[{:-<{}}] {}", std::string(filled, '#'), kBarWidth, text);
    const std::size_t width = text.size();
    text.append(shown_width_ > width ? shown_width_ - width : 0, ' ');
    shown_width_ = width;
    fmt::print(options_.stream, "\r{}{}", text, last ? "\n" : "");
  } else {
    fmt::print(options_.stream, "{}\n", text);
  }
  std::fflush(options_.stream);
}

}  // namespace protogcd
