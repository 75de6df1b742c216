// The numbers of a sweep: one value for each cell and column, and what seeds make of them.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "protogcd/sweep/cells.h"

namespace protogcd {

enum class CellState { kPending, kFinished, kFailed };

/// What may stand beside a number of a cell; NaN where it does not.
struct BesideNumber {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double low = kNone, high = kNone;  ///< its 95% interval over images
  /// The same accuracy at the epochs that the truth calls best.
  double best_on_unlabelled = kNone, best_on_test = kNone;
};

/// Which epochs of a run were compared, counted from 1; NaN where it did not say.
struct CellEpochs {
  double evaluated = BesideNumber::kNone, all = BesideNumber::kNone;  ///< how many
  double last = BesideNumber::kNone, best_on_unlabelled = BesideNumber::kNone,
         best_on_test = BesideNumber::kNone;
  bool every_one() const { return evaluated == all; }
  double of(WhichEpoch which) const;
};

struct CellResult {
  CellState state = CellState::kPending;
  std::vector<double> values;             ///< for each column; NaN where there is none
  std::vector<BesideNumber> beside = {};  ///< for each column, or empty
  CellEpochs epochs = {};
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
  /// A finished cell's number in a column, of that epoch; NaN where there is none.
  double number(std::size_t cell, std::size_t column, WhichEpoch which = WhichEpoch::kLast) const;
  /// Of one column over the seeds at a point of the grid.
  Spread spread(const std::vector<std::size_t>& at, std::size_t column,
                WhichEpoch which = WhichEpoch::kLast) const;
  /// The means of the ends of the seeds' intervals: the interval of the mean if all seeds erred on
  /// the same images, and wider than it otherwise. NaN where a seed has none.
  BesideNumber interval(const std::vector<std::size_t>& at, std::size_t column) const;
  /// Which of our epochs the paper's number in a column is compared with: what the file says, or
  /// the best on unlabelled images where every cell evaluated all of its epochs. The last one for
  /// numbers that are told of no other.
  WhichEpoch compared_epoch(std::size_t column) const;
  /// Whether any cell tells the number at that epoch.
  bool has(std::size_t column, WhichEpoch which) const;
  /// "CIFAR-100, (a), seed 0".
  std::string describe(const Cell& cell) const;
};

/// A number as its column shows it; a dash for NaN.
std::string shown(double value, const SweepColumn& column);

/// The cells at one point of the grid, one for each seed.
std::vector<std::size_t> cells_at(const SweepResults& results, const std::vector<std::size_t>& at);

/// One row for each cell: labels, seed, state, numbers and what stands beside them, seconds,
/// folder.
std::string to_csv(const SweepResults& results);
/// One row for each point of the grid: mean and deviation over seeds, the interval over images, the
/// paper's number and the difference beside; then the last and the best epochs.
std::string to_markdown(const SweepResults& results);
/// The chart that the file asks for; empty if it asks for none.
std::string to_svg(const SweepResults& results);

}  // namespace protogcd
