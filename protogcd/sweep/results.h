// The numbers of a sweep: one value for each cell and column, and what seeds make of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "protogcd/sweep/cells.h"

namespace protogcd {

enum class CellState { kPending, kFinished, kFailed };

struct CellResult {
  CellState state = CellState::kPending;
  std::vector<double> values;  ///< for each column; NaN where there is none
  double seconds = 0;
  std::string problem;  ///< why it failed
  std::string hint;     ///< what can be done about it
  int exit_code = 0;
};

/// Mean and standard deviation (of a sample) over the seeds that have a number.
struct Spread {
  double mean = 0, deviation = 0;
  std::size_t count = 0;
};

struct SweepResults {
  const SweepFile* file = nullptr;
  const std::vector<Cell>* cells = nullptr;
  std::vector<CellResult> results;  ///< of each cell

  std::size_t count(CellState state) const;
  /// Of one column over the seeds at a point of the grid.
  Spread spread(const std::vector<std::size_t>& at, std::size_t column) const;
  /// "CIFAR-100, (a), seed 0".
  std::string describe(const Cell& cell) const;
};

/// A number as its column shows it; a dash for NaN.
std::string shown(double value, const SweepColumn& column);

/// One row for each cell: labels, seed, state, numbers, seconds, folder.
std::string to_csv(const SweepResults& results);
/// One row for each point of the grid: mean and deviation over seeds, the paper's number and the
/// difference beside.
std::string to_markdown(const SweepResults& results);
/// The chart that the file asks for; empty if it asks for none.
std::string to_svg(const SweepResults& results);

}  // namespace protogcd
