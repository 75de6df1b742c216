// Public. What every piece of work is given: where to run, with how many threads, from which seed,
// where to speak, and whether to stop. As it stands it is a quiet one: no word, no progress, no
// stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "protogcd/core/log.h"
#include "protogcd/core/progress.h"
#include "protogcd/core/stop.h"

namespace protogcd {

class Communicator;

/// Which of the processes that share one piece of work this is.
struct ProcessPlace {
  int rank = 0;
  int size = 1;
  int on_machine = 1;  ///< how many of them share this machine's memory, and
  int on_gpu = 1;      ///< how many its GPU
  std::string job{};   ///< what the launcher began them for, also if it began them again
};

struct Context {
  std::string device = "auto";  ///< auto | cpu | cuda | cuda:n, resolved by nn/device.h
  std::string dtype = "auto";   ///< of the frozen trunk: see core/machine_options.h
  std::size_t threads = 1;
  std::uint64_t seed = 0;
  Logger log{};
  std::shared_ptr<ProgressSink> progress_sink{};  ///< none: nothing is shown
  StopToken stop{};                               ///< set by the host
  ProcessPlace process{};
  std::shared_ptr<Communicator> team{};  ///< those processes (nn/communicator.h); none: it is alone
  std::string command{};  ///< how a person calls this work: "protogcd discover"; may be empty

  /// Long work looks here between steps; when true, it saves what it has and throws
  /// InterruptedError.
  bool interrupted() const { return stop.stop_requested(); }
  /// A command to paste: the work's own, with these options (keys and values) after it.
  std::string command_line(
      std::initializer_list<std::pair<std::string_view, std::string>> options) const;
  /// Where a task shows how far it is: of several processes, the first shows it for all.
  std::shared_ptr<ProgressSink> progress() const {
    return process.rank == 0 ? progress_sink : nullptr;
  }
};

}  // namespace protogcd
