#include "protogcd/cli/processes.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "protogcd/core/launched_process.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/engine/placement.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/process_group.h"

namespace protogcd::cli {

void declare_processes(OptionTable& table, std::int64_t& timeout_seconds) {
  table.begin_group("Machine");
  table
      .add("process_timeout", &timeout_seconds,
           "seconds that one of several processes waits for the others before it gives up")
      .at_least(1)
      .at_most(1'000'000)
      .flag_only();
}

int join_processes_of(Session& session, std::int64_t timeout_seconds) {
  const auto process = launched_process(process_environment());
  if (!process) return 0;
  if (process->size == 1) {
    session.context.process.job = job_of(*process);
    return process->restarts;
  }
  Context& context = session.context;
  ComputeDevice device = resolve_device(context.device);
  if (device.is_cuda && !context.device.starts_with("cuda:")) {
    device.index = process->local_rank % cuda_device_count();
    context.device = device.name();
  }
  const JoinedProcesses joined = join_processes(*process, identity_of_gpu(place(context).device),
                                                std::chrono::seconds(timeout_seconds));
  // Some launchers bind each process to cores of its own.
  if (session.common.threads == 0) {
    context.threads =
        std::max<std::size_t>(1, available_threads() / static_cast<std::size_t>(joined.on_cores));
  }
  context.team = joined.team;
  context.process = {.rank = process->rank,
                     .size = process->size,
                     .on_machine = process->local_size,
                     .on_gpu = joined.on_gpu,
                     .job = joined.job};
  context.log.info(fmt::format("process {} of {}, pid {}, {} threads on {}", process->rank + 1,
                               process->size, ::getpid(), context.threads, device.name()));
  if (process->rank > 0) context.log = Logger();
  return process->restarts;
}

}  // namespace protogcd::cli
