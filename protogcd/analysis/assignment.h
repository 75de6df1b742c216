// Linear assignment: each row of a table is paired with a column of its own, at the least (or
// greatest) sum of the chosen cells. The table need not be square.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace protogcd {

enum class AssignmentGoal { kMinimise, kMaximise };

struct Assignment {
  std::vector<std::int32_t> column_of_row;  ///< -1: a row left over, in a tall table
  std::vector<std::int32_t> row_of_column;  ///< -1: a column left over, in a wide table
  std::int64_t total = 0;                   ///< of the chosen cells
};

/// Pairs min(rows, columns) rows and columns of `values` [rows, columns] at the best total. Exact,
/// in time O(min^2 max), by shortest augmenting paths (Jonker and Volgenant 1987; Crouse 2016).
///
/// Where several assignments are best, this picks the one that SciPy's linear_sum_assignment picks:
/// the published accuracies of Old and New are read off after that choice.
///
/// InternalError if the values are so large that sums could leave 64 bits.
Assignment assign(std::span<const std::int64_t> values, std::size_t rows, std::size_t columns,
                  AssignmentGoal goal);

}  // namespace protogcd
