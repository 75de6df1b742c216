#include "protogcd/core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "protogcd/core/text.h"

namespace protogcd {
namespace {

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

struct Logger::Sink {
  spdlog::logger logger{"protogcd", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
};

Logger::Logger(LogLevel level) : level_(level), sink_(std::make_unique<Sink>()) {
  sink_->logger.set_level(spdlog_level(level));
  sink_->logger.set_pattern(level == LogLevel::kDebug ? "%H:%M:%S.%e %^%l%$ %v" : "%^%l%$: %v");
  sink_->logger.flush_on(spdlog::level::debug);
}

Logger::~Logger() = default;

void Logger::write(LogLevel level, std::string_view message) {
  sink_->logger.log(spdlog_level(level), one_line(message));
}

}  // namespace protogcd
