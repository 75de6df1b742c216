// `protogcd bench processes`: what it takes several processes to add up numbers, as each step of
// their training does.
#include <ATen/ATen.h>
#include <fmt/core.h>

#include <chrono>
#include <memory>

#include "protogcd/cli/bench_table.h"
#include "protogcd/cli/processes.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/placement.h"
#include "protogcd/nn/communicator.h"
#include "protogcd/nn/device.h"

namespace protogcd::cli {
namespace {

struct BenchProcessesOptions {
  std::vector<std::string> numbers = {"2", "7100000", "13500000"};
  std::int64_t runs = 20, process_timeout = 600;
  std::filesystem::path csv;
  bool overwrite = false;
};

/// Milliseconds of one sum over all processes, waited for.
double time_of_sum(Communicator& team, at::Tensor& numbers) {
  const auto start = std::chrono::steady_clock::now();
  team.all_reduce(numbers);
  numbers.select(0, 0).item<float>();  // on a GPU: when it is there
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void bench_processes(const BenchProcessesOptions& options, Session& session) {
  if (!options.csv.empty()) check_output_path(options.csv, options.overwrite, "csv");
  join_processes_of(session, options.process_timeout);
  const ComputeSettings settings(session.context);
  const auto team = communicator_of(session.context);
  if (team->size() == 1) {
    throw UsageError("there is but one process",
                     "start several: torchrun --no-python --nproc-per-node 2 protogcd bench "
                     "processes");
  }
  std::vector<std::vector<std::string>> rows;
  for (const std::string& text : options.numbers) {
    const auto count = parse_integer(text);
    if (!count || *count < 1)
      throw UsageError(fmt::format("{}: '{}' is no number from 1", option_name("numbers"), text));
    at::Tensor numbers =
        at::zeros({*count}, at::device(place(session.context).device).dtype(at::kFloat));
    time_of_sum(*team, numbers);  // connects
    std::vector<double> times;
    for (std::int64_t run = 0; run < options.runs; ++run)
      times.push_back(time_of_sum(*team, numbers));
    const Spread spread = spread_of(times);
    const double megabytes = 4e-6 * static_cast<double>(*count);
    rows.push_back({text, fmt::format("{:.1f}", megabytes), fmt::format("{:.3f}", spread.median),
                    fmt::format("{:.3f}", spread.low), fmt::format("{:.3f}", spread.high),
                    fmt::format("{:.2f}", megabytes / spread.median)});
  }
  if (session.context.process.rank > 0) return;
  show_bench_table({"numbers", "MB", "ms", "low", "high", "GB/s"}, rows, options.csv, session);
}

}  // namespace

Verb bench_processes_verb() {
  return {
      .name = "bench processes",
      .summary = "milliseconds in which several processes add up numbers",
      .example = "torchrun --no-python --nproc-per-node 2 protogcd bench processes",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<BenchProcessesOptions>();
        table.add("numbers", &options->numbers, "how many float32 numbers each process has");
        table.add("runs", &options->runs, "sums of each, after a first one")
            .at_least(1)
            .at_most(100000);
        table.add("csv", &options->csv, "also write the table to this file").value_name("FILE.csv");
        table.add("overwrite", &options->overwrite, "replace the file").flag_only();
        declare_processes(table, options->process_timeout);
        return [options](Session& session) { bench_processes(*options, session); };
      }};
}

}  // namespace protogcd::cli
