// What every piece of work is given: where to run, with how many threads, from which seed, where to
// speak, and whether to stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "protogcd/core/interrupt.h"
#include "protogcd/core/log.h"
#include "protogcd/core/progress.h"

namespace protogcd {

struct Context {
  std::string device = "auto";  ///< auto | cpu | cuda | cuda:n, resolved by nn/device.h
  std::string dtype = "auto";   ///< auto | float32 | bfloat16: the frozen trunk's arithmetic
  std::size_t threads = 1;
  std::uint64_t seed = 0;
  Logger& log;
  const InterruptGuard* interrupt = nullptr;  ///< none: work is never asked to stop

  /// Long work looks here between steps; when true, it saves what it has and throws
  /// InterruptedError.
  bool interrupted() const { return interrupt != nullptr && interrupt->interrupted(); }
  ProgressOptions progress() const { return stderr_progress(log.level() > LogLevel::kInfo); }
};

}  // namespace protogcd
