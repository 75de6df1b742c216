// Several processes, connected by torch's c10d: Gloo between CPUs, NCCL between GPUs where the
// libtorch of the build brings it. docs/scaling.md has the use.
#pragma once

#include <chrono>
#include <memory>

#include "protogcd/core/launched_process.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

/// Waits until all processes have come. A process that is waited for longer than `patience`, here
/// or in any later step, is an error in those that wait: DeviceError. With a GPU for each process
/// (its own: `own_gpu`) tensors of GPUs travel by NCCL where the build has it, else by Gloo.
std::shared_ptr<Communicator> join_processes(const LaunchedProcess& process, bool own_gpu,
                                             std::chrono::milliseconds patience);

}  // namespace protogcd
