#include "protogcd/core/launched_process.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
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
constexpr const char *kAddress = "MASTER_ADDR", *kPort = "MASTER_PORT", *kNode = "SLURM_NODEID",
                     *kElastic = "TORCHELASTIC_", *kRestarts = "TORCHELASTIC_RESTART_COUNT";

// Of Slurm those that srun sets for each step: a batch script itself is no process of several.
constexpr std::array<LauncherNames, 3> kLaunchers = {
    {{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}}};

int number_in(const std::string& name, const std::string& value, int least, int most) {
  const auto number = parse_integer(value);
  if (number && *number >= least && *number <= most) return static_cast<int>(*number);
  throw ConfigError(fmt::format("{}: '{}' is no number of {} to {}", name, value, least, most));
}

/// Slurm: "2(x4),1" is 2 on each of four machines and 1 on the fifth.
std::string of_machine(const std::string& value, int machine) {
  for (const std::string& each : split(value, ',')) {
    const std::size_t open = each.find("(x");
    const auto times =
        open == each.npos ? 1 : parse_integer(each.substr(open + 2, each.find(')') - open - 2));
    if (!times) break;
    machine -= static_cast<int>(*times);
    if (machine < 0) return each.substr(0, open);
  }
  return value;
}

bool is_of_launcher(std::string_view variable) {
  const auto names = [&](const char* name) { return name == variable; };
  return names(kAddress) || names(kPort) || variable.starts_with(kElastic) ||
         std::any_of(kLaunchers.begin(), kLaunchers.end(), [&](const LauncherNames& launcher) {
           return names(launcher.rank) || names(launcher.size) || names(launcher.local_rank) ||
                  names(launcher.local_size);
         });
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
    const auto restarts = environment(kRestarts);
    if (process.size == 1 && !restarts) return std::nullopt;
    process.rank = number_in(names.rank, *environment(names.rank), 0, process.size - 1);
    if (const auto local = environment(names.local_size)) {
      const int machine = number_in(kNode, environment(kNode).value_or("0"), 0, kMost);
      process.local_size =
          number_in(names.local_size, of_machine(*local, machine), 1, process.size);
    }
    if (const auto local = environment(names.local_rank))
      process.local_rank = number_in(names.local_rank, *local, 0, process.size - 1);
    const auto address = environment(kAddress), port = environment(kPort);
    if (!address && process.local_size < process.size) {
      throw ConfigError(
          fmt::format("MASTER_ADDR is not set, and there are {} processes on several machines",
                      process.size),
          "set it to the name of the first process's machine, and MASTER_PORT to a free port");
    }
    process.address = address.value_or(process.address);
    if (port) process.port = number_in(kPort, *port, 1, std::numeric_limits<std::uint16_t>::max());
    process.is_met = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
    if (restarts) process.restarts = number_in(kRestarts, *restarts, 0, kMost);
    const std::string run_id = environment("TORCHELASTIC_RUN_ID").value_or("");
    if (run_id != "none") process.run_id = run_id;  // "none" is every run's that was given none
    return process;
  }
  return std::nullopt;
}

std::vector<std::string> environment_without_launcher() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!is_of_launcher(text.substr(0, text.find('=')))) kept.emplace_back(text);
  }
  return kept;
}

}  // namespace protogcd
