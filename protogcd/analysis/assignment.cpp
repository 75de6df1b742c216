#include "protogcd/analysis/assignment.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kNobody = -1;

/// Costs to minimise, all >= 0, with at least as many columns as rows.
struct Costs {
  std::size_t rows = 0, columns = 0;
  std::vector<std::int64_t> cells;
};

Costs wide_costs(std::span<const std::int64_t> values, std::size_t rows, std::size_t columns,
                 AssignmentGoal goal) {
  const auto [lowest, highest] = std::ranges::minmax(values);
  // A path is at most rows + 1 spans of the values long.
  const auto limit =
      (std::int64_t{1} << 60) / static_cast<std::int64_t>(std::min(rows, columns) + 1);
  if (lowest < -limit || highest > limit) {
    throw InternalError(
        fmt::format("assign: values from {} to {} are beyond +-{}", lowest, highest, limit));
  }
  const bool tall = rows > columns;
  Costs costs{std::min(rows, columns), std::max(rows, columns), {}};
  costs.cells.resize(values.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const std::int64_t value = values[row * columns + column];
      costs.cells[tall ? column * rows + row : row * columns + column] =
          goal == AssignmentGoal::kMinimise ? value - lowest : highest - value;
    }
  }
  return costs;
}

/// Adds one row after the other to an assignment that is optimal for the rows so far. Prices of
/// rows and columns keep every reduced cost (cost - row price - column price) at or above zero, and
/// at zero for chosen cells; so the cheapest way to fit another row in is a shortest path, found as
/// by Dijkstra, over columns whose present rows move on.
class Solver {
 public:
  explicit Solver(const Costs& costs)
      : costs_(costs),
        row_price_(costs.rows, 0),
        column_price_(costs.columns, 0),
        distance_(costs.columns),
        reached_from_(costs.columns),
        open_(costs.columns),
        column_of_row_(costs.rows, kNobody),
        row_of_column_(costs.columns, kNobody) {
    visited_.reserve(costs.rows);
  }

  std::vector<std::int32_t> solve() {
    for (std::size_t row = 0; row < costs_.rows; ++row) add_row(static_cast<std::int32_t>(row));
    return std::move(column_of_row_);
  }

 private:
  void add_row(std::int32_t row) {
    std::ranges::fill(distance_, kFar);
    // The order in which columns are looked at, last first, decides between equals.
    for (std::size_t i = 0; i < open_.size(); ++i) {
      open_[i] = static_cast<std::int32_t>(open_.size() - 1 - i);
    }
    open_count_ = open_.size();
    visited_.clear();
    std::int64_t length = 0;
    std::int32_t column = kNobody;
    for (std::int32_t at = row;; at = row_of_column_[index(column)]) {
      column = nearest_after(at, length);
      length = distance_[index(column)];
      if (row_of_column_[index(column)] == kNobody) break;
      visited_.push_back(column);
    }
    row_price_[index(row)] += length;
    for (const std::int32_t passed : visited_) {
      const std::int64_t slack = length - distance_[index(passed)];
      row_price_[index(row_of_column_[index(passed)])] += slack;
      column_price_[index(passed)] -= slack;
    }
    hand_on(column, row);
  }

  /// Looks at every open column from row `at`, which lies `length` away, and closes the nearest;
  /// among equals a free one, as it ends the path.
  std::int32_t nearest_after(std::int32_t at, std::int64_t length) {
    const std::int64_t* cells = costs_.cells.data() + index(at) * costs_.columns;
    const std::int64_t offset = length - row_price_[index(at)];
    std::int64_t nearest = kFar;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < open_count_; ++i) {
      const std::size_t column = index(open_[i]);
      const std::int64_t through = offset + cells[column] - column_price_[column];
      if (through < distance_[column]) {
        distance_[column] = through;
        reached_from_[column] = at;
      }
      const std::int64_t distance = distance_[column];
      if (distance < nearest || (distance == nearest && row_of_column_[column] == kNobody)) {
        nearest = distance;
        chosen = i;
      }
    }
    const std::int32_t column = open_[chosen];
    open_[chosen] = open_[--open_count_];
    return column;
  }

  /// Every row on the path back to `first` takes the column it was left by.
  void hand_on(std::int32_t column, std::int32_t first) {
    for (std::int32_t row = kNobody; row != first;) {
      row = reached_from_[index(column)];
      row_of_column_[index(column)] = row;
      std::swap(column_of_row_[index(row)], column);
    }
  }

  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  const Costs& costs_;
  std::vector<std::int64_t> row_price_, column_price_;
  std::vector<std::int64_t> distance_;      ///< of each column from the row being added
  std::vector<std::int32_t> reached_from_;  ///< the row before it on that path
  std::vector<std::int32_t> open_;          ///< columns whose distance is not final
  std::size_t open_count_ = 0;
  std::vector<std::int32_t> visited_;  ///< columns passed through, all taken
  std::vector<std::int32_t> column_of_row_, row_of_column_;
};

}  // namespace

Assignment assign(std::span<const std::int64_t> values, std::size_t rows, std::size_t columns,
                  AssignmentGoal goal) {
  if (values.size() != rows * columns) {
    throw InternalError(
        fmt::format("assign: {} values for a table of {} x {}", values.size(), rows, columns));
  }
  Assignment result{std::vector<std::int32_t>(rows, kNobody),
                    std::vector<std::int32_t>(columns, kNobody)};
  if (values.empty()) return result;
  const Costs costs = wide_costs(values, rows, columns, goal);
  const std::vector<std::int32_t> partner = Solver(costs).solve();
  for (std::size_t i = 0; i < partner.size(); ++i) {
    const auto j = static_cast<std::size_t>(partner[i]);
    const std::size_t row = rows > columns ? j : i, column = rows > columns ? i : j;
    result.column_of_row[row] = static_cast<std::int32_t>(column);
    result.row_of_column[column] = static_cast<std::int32_t>(row);
    result.total += values[row * columns + column];
  }
  return result;
}

}  // namespace protogcd
