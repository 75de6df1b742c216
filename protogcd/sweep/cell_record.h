// What a cell's folder tells of its steps: which are finished, what they printed, and with which
// options they were begun.
//
//   run/                   the first step's --out, where it writes a run
//   <step>.json            what the step printed; there once it is finished
//   <step>.command.json    its words and how long it took
//   <step>.log             its messages
//   <step>, <step>.csv...  its --out, where it writes something else than a run
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/sweep/cells.h"
#include "protogcd/sweep/results.h"

namespace protogcd {

struct CellChange {
  std::size_t step = 0;
  std::string text;  ///< "now '--epochs 6', begun with '--epochs 5'"
};

class CellRecord {
 public:
  CellRecord(std::filesystem::path folder, const Cell& cell);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path result(std::size_t step) const { return file(step, ".json"); }
  std::filesystem::path output(std::size_t step) const { return file(step, ".out"); }
  std::filesystem::path log(std::size_t step) const { return file(step, ".log"); }

  /// The first step that is not finished; the number of steps if all are.
  std::size_t next_step() const;
  /// What differs between the options that the first such step was begun with and those of now.
  std::optional<CellChange> change() const;
  /// Removes what a step and those after it have left; the run too, unless a step before wrote it.
  void forget_from(std::size_t first) const;

  void begin(std::size_t step) const;
  /// Adds to the time that a step has taken: one that is stopped and gone on with has several
  /// parts.
  void add_time(std::size_t step, double seconds) const;
  /// Keeps what the step printed. DataError if it is no JSON object.
  void finish(std::size_t step) const;
  /// Of all steps so far.
  double seconds() const;

  /// What its steps had to do without: images that they skipped, warnings in their logs. In words;
  /// empty where there was nothing.
  std::string remarks() const;

  /// The number at a JSON pointer of a finished step's answer; NaN for null. DataError names step
  /// and pointer if there is none.
  double number(const SweepColumn& column, const std::string& pointer) const;
  /// What the answer tells beside that number; nothing of it must be there.
  BesideNumber beside(const SweepColumn& column, const std::string& pointer) const;
  /// Which epochs the first step compared.
  CellEpochs epochs() const;

 private:
  std::filesystem::path file(std::size_t step, const char* ending) const;

  std::filesystem::path folder_;
  const Cell& cell_;
};

}  // namespace protogcd
