// Rows of numbers that a long task computes one after another, kept on disk so that a killed task
// can go on where it was: a hidden folder beside the output holds the rows so far and a journal of
// what is finished. When all is done, the files get their names.
//
// Rows are flushed before the journal says that they are there, so that neither a kill nor a power
// failure leaves a journal that promises too much.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protogcd/core/file_lock.h"
#include "protogcd/core/tensor_entry.h"

namespace protogcd {

/// One .npy file: its rows have this shape.
struct PartialArray {
  std::filesystem::path target;
  ElementType type = ElementType::kFloat32;
  std::vector<std::int64_t> row_shape;

  std::uint64_t row_bytes() const;
};

/// What an item that gives no row had wrong, by its position in the task.
using RejectedItem = std::pair<std::uint64_t, std::string>;

class PartialRows {
 public:
  /// Where unfinished work for this output lies: ".features.npy.partial".
  static std::filesystem::path folder_of(const std::filesystem::path& target);
  /// Whether the folder is what commit() left when it was interrupted after naming the last file.
  static bool is_committed(const std::filesystem::path& target);

  /// `identity` says what the rows depend on, by name ("weights" -> a digest). With `resume`, goes
  /// on with the unfinished work there is; UsageError if it has another identity (naming what
  /// differs). Without, starts anew. FileError if another process is at it.
  PartialRows(std::vector<PartialArray> arrays, const std::map<std::string, std::string>& identity,
              bool resume);
  ~PartialRows();
  PartialRows(const PartialRows&) = delete;
  PartialRows& operator=(const PartialRows&) = delete;

  std::uint64_t items() const { return items_; }  ///< finished, rejected ones included
  std::uint64_t rows() const { return rows_; }
  const std::vector<RejectedItem>& rejected() const { return rejected_; }

  /// Whole rows of array `index`. They count once `finish_items` has been told.
  void append(std::size_t index, std::span<const std::byte> bytes);
  void reject(std::uint64_t item, std::string reason);
  /// All items below `items` are finished, and so many rows were appended to every array. The
  /// journal is written now and then (twice a second), as flushing costs time.
  void finish_items(std::uint64_t items, std::uint64_t rows);
  /// Writes the journal now: a task that stops on purpose loses nothing.
  void save() { write_journal(); }
  /// Completes the files and gives them their names, the first array's last: it stands for the
  /// whole. The folder goes.
  void commit();

 private:
  using Clock = std::chrono::steady_clock;

  void start(const std::map<std::string, std::string>& identity);
  void continue_from_journal(const std::map<std::string, std::string>& identity);
  void open_files();
  void write_journal();
  std::filesystem::path data_file(std::size_t index) const;

  std::vector<PartialArray> arrays_;
  std::filesystem::path folder_;
  std::vector<int> descriptors_;  ///< of the arrays; -1 where one has its name already
  std::optional<FileLock> lock_;
  int journal_ = -1;
  std::uint64_t items_ = 0, rows_ = 0;
  std::vector<RejectedItem> rejected_;
  std::size_t rejected_in_journal_ = 0;
  Clock::time_point journal_written_{};  ///< long ago: the first rows are promised at once
};

}  // namespace protogcd
