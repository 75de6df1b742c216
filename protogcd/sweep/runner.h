// Runs the cells of a sweep as processes of the program itself, some at a time, and keeps the
// tables up to date. A finished cell is never run again; an unfinished run is gone on with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/sweep/results.h"

namespace protogcd {

struct RunnerOptions {
  std::string program;        ///< whose verbs the cells run
  std::filesystem::path out;  ///< the sweep's folder
  std::size_t jobs = 1;       ///< processes at a time
  std::size_t threads = 1;    ///< of each
  bool restart_changed = false;
  /// With other sweeps of the same file in the same folder, on this machine or others: each cell is
  /// run by one of them, which holds its lock.
  bool share = false;
};

/// Runs what is not finished. Where the folder is shared, it returns when all cells are finished,
/// whoever ran them: a cell whose process died is taken over, one that failed is tried by each
/// once. The folder holds cells/, sweep.toml, table.csv, table.md and chart.svg, the last three
/// written after every cell.
///
/// UsageError: the folder is something else's; a cell was begun with other options (unless it may
/// be restarted). FileError: another sweep works there, and not both share it. InterruptedError:
/// after Ctrl-C, once the cells have stopped. A cell that fails does not stop the others: its
/// result says why.
SweepResults run_sweep(const SweepFile& file, const std::vector<Cell>& cells,
                       const RunnerOptions& options, const Context& context);

}  // namespace protogcd
