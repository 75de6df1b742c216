#include "protogcd/core/progress.h"

#include <fmt/core.h>

#include "protogcd/core/text.h"

namespace protogcd {
namespace {

/// 1234567 -> "1,234,567"
std::string with_separators(std::uint64_t value) {
  return value < 1000 ? fmt::format("{}", value)
                      : fmt::format("{},{:03}", with_separators(value / 1000), value % 1000);
}

std::int64_t nanoseconds(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

}  // namespace

Progress::Progress(std::string task, std::uint64_t total, std::string unit,
                   std::shared_ptr<ProgressSink> sink)
    : task_(std::move(task)),
      total_(total),
      unit_(std::move(unit)),
      sink_(std::move(sink)),
      pace_(sink_ != nullptr ? sink_->pace() : ProgressSink::Pace{}),
      next_show_ns_(nanoseconds(pace_.first_seconds)) {}

Progress::~Progress() {
  finish();
}

void Progress::add(std::uint64_t count) {
  done_ += count;
  if (sink_ == nullptr) return;
  const std::int64_t now = std::chrono::nanoseconds(Clock::now() - start_).count();
  std::int64_t due = next_show_ns_;
  // Only the thread that moves the due time on draws.
  if (now >= due &&
      next_show_ns_.compare_exchange_strong(due, now + nanoseconds(pace_.interval_seconds))) {
    show(false);
  }
}

void Progress::say(const std::string& line) {
  if (sink_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  sink_->say(line);
}

void Progress::finish() {
  if (sink_ != nullptr) show(true);
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
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = last;
  const std::uint64_t done = done_;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::string text = describe(done, seconds);
  sink_->show({.task = task_,
               .done = done,
               .total = total_,
               .unit = unit_,
               .seconds = seconds,
               .text = text,
               .last = last});
}

}  // namespace protogcd
