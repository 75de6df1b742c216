#include "protogcd/core/launched_process.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <limits>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

/// The names that a launcher has for the four numbers.
struct LauncherNames {
  const char *rank, *size, *local_rank, *local_size;
};

// Of Slurm those that srun sets for each step: a batch script itself is no process of several.
constexpr std::array<LauncherNames, 3> kLaunchers = {
    {{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}}};

int number_in(const std::string& name, std::string value, int least, int most) {
  value.resize(std::min(value.find('('), value.size()));  // Slurm: "2(x4)", 2 on each of 4 machines
  const auto number = parse_integer(value);
  if (number && *number >= least && *number <= most) return static_cast<int>(*number);
  throw ConfigError(fmt::format("{}: '{}' is no number of {} to {}", name, value, least, most));
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::optional<LaunchedProcess> launched_process(const Environment& environment) {
  constexpr int kMost = 1'000'000;
  for (const LauncherNames& names : kLaunchers) {
    const auto size = environment(names.size);
    if (!size || !environment(names.rank)) continue;
    LaunchedProcess process;
    process.size = number_in(names.size, *size, 1, kMost);
    if (process.size == 1) return std::nullopt;
    process.rank = number_in(names.rank, *environment(names.rank), 0, process.size - 1);
    if (const auto local = environment(names.local_size))
      process.local_size = number_in(names.local_size, *local, 1, process.size);
    if (const auto local = environment(names.local_rank))
      process.local_rank = number_in(names.local_rank, *local, 0, process.size - 1);
    const auto address = environment("MASTER_ADDR"), port = environment("MASTER_PORT");
    if (!address && process.local_size < process.size) {
      throw ConfigError(
          fmt::format("MASTER_ADDR is not set, and there are {} processes on several machines",
                      process.size),
          "set it to the name of the first process's machine, and MASTER_PORT to a free port");
    }
    process.address = address.value_or(process.address);
    if (port)
      process.port = number_in("MASTER_PORT", *port, 1, std::numeric_limits<std::uint16_t>::max());
    process.is_met = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
    if (const auto restarts = environment("TORCHELASTIC_RESTART_COUNT"))
      process.restarts = number_in("TORCHELASTIC_RESTART_COUNT", *restarts, 0, kMost);
    return process;
  }
  return std::nullopt;
}

}  // namespace protogcd
