// What a launcher says of this process in its environment: torchrun, Open MPI's mpirun, Slurm's
// srun, in this order.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace protogcd {

struct LaunchedProcess {
  int rank = 0, size = 1;              ///< among all processes
  int local_rank = 0, local_size = 1;  ///< among those of this machine
  std::string address = "127.0.0.1";   ///< where the processes meet, and
  int port = 29500;
  /// Somebody else keeps the meeting place: torchrun does. Else the first process does.
  bool is_met = false;
  int restarts = 0;    ///< how often torchrun began all processes again
  std::string run_id;  ///< what torchrun calls its work; may be empty
};

/// The value of a variable of the environment; nothing where there is none.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment process_environment();

/// Nothing where this process is alone and no launcher begins it again. ConfigError, naming the
/// variable, where one is missing or is no number in its range.
std::optional<LaunchedProcess> launched_process(const Environment& environment);

/// The environment, each as NAME=value, of a process that this one starts for work of its own: what
/// a launcher says of this process is not true of that one.
std::vector<std::string> environment_without_launcher();

}  // namespace protogcd
