// What every piece of work is given: where to run, with how many threads, from which seed, and
// where to speak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "protogcd/core/log.h"
#include "protogcd/core/progress.h"

namespace protogcd {

struct Context {
  std::string device = "auto";  ///< auto | cpu | cuda | cuda:n, resolved by nn/device.h
  std::string dtype = "auto";   ///< auto | float32 | bfloat16: the frozen trunk's arithmetic
  std::size_t threads = 1;
  std::uint64_t seed = 0;
  Logger& log;

  ProgressOptions progress() const { return stderr_progress(log.level() > LogLevel::kInfo); }
};

}  // namespace protogcd
