// Several processes, connected by torch's c10d: Gloo between CPUs, NCCL between GPUs where the
// libtorch of the build brings it. docs/scaling.md has the use.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "protogcd/core/launched_process.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

struct JoinedProcesses {
  std::shared_ptr<Communicator> team;
  int on_gpu = 1;    ///< so many of them share this one's GPU, and
  int on_cores = 1;  ///< its processor cores
  std::string job;   ///< as job_of
};

/// A name for the work of the launcher's processes, the same for all, and once they were begun
/// again. Empty where there is none: nobody keeps one, or its store does not answer at once.
std::string job_of(const LaunchedProcess& process);

/// Waits until all processes have come. A process that is waited for longer than `patience`, here
/// or in any later step, is an error in those that wait: DeviceError. `gpu` names this one's
/// (identity_of_gpu); where each has one of its own, tensors of GPUs travel by NCCL if the build
/// has it, else by Gloo.
JoinedProcesses join_processes(const LaunchedProcess& process, const std::string& gpu,
                               std::chrono::milliseconds patience);

}  // namespace protogcd
