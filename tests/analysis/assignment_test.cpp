// The best assignment, against all permutations on small tables and against the absence of a better
// exchange on larger ones.
#include "protogcd/analysis/assignment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/random.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using Values = std::vector<std::int64_t>;

constexpr auto kBothGoals = {AssignmentGoal::kMinimise, AssignmentGoal::kMaximise};

Values random_values(std::size_t count, std::int64_t low, std::int64_t high, std::uint64_t seed) {
  RandomStream stream({.seed = seed});
  Values values(count);
  for (auto& value : values) value = stream.between(low, high);
  return values;
}

/// The best total by trying every way to give the shorter side's members a partner.
std::int64_t best_by_trying_all(const Values& values, std::size_t rows, std::size_t columns,
                                AssignmentGoal goal) {
  const std::size_t few = std::min(rows, columns), many = std::max(rows, columns);
  std::vector<std::size_t> order(many);
  std::iota(order.begin(), order.end(), 0u);
  std::vector<std::int64_t> totals;
  do {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < few; ++i) {
      total += rows <= columns ? values[i * columns + order[i]] : values[order[i] * columns + i];
    }
    totals.push_back(total);
  } while (std::ranges::next_permutation(order).found);
  return goal == AssignmentGoal::kMinimise ? std::ranges::min(totals) : std::ranges::max(totals);
}

/// That rows and columns name each other, as many as there can be, and add up to the total.
void expect_consistent(const Assignment& assignment, const Values& values, std::size_t rows,
                       std::size_t columns) {
  ASSERT_EQ(assignment.column_of_row.size(), rows);
  ASSERT_EQ(assignment.row_of_column.size(), columns);
  std::size_t chosen = 0;
  std::int64_t total = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (assignment.column_of_row[row] < 0) continue;
    const auto column = static_cast<std::size_t>(assignment.column_of_row[row]);
    ASSERT_LT(column, columns);
    EXPECT_EQ(assignment.row_of_column[column], static_cast<std::int32_t>(row));
    total += values[row * columns + column];
    ++chosen;
  }
  EXPECT_EQ(chosen, std::min(rows, columns));
  EXPECT_EQ(static_cast<std::size_t>(
                std::ranges::count_if(assignment.row_of_column, [](auto row) { return row >= 0; })),
            chosen);
  EXPECT_EQ(assignment.total, total);
}

TEST(Assignment, IsTheBestOfAllOnSmallTablesOfEveryShape) {
  std::uint64_t seed = 0;
  for (std::size_t rows = 1; rows <= 7; ++rows) {
    for (std::size_t columns = 1; columns <= 7; ++columns) {
      // Few values give many ties, negative ones are costs like any other.
      for (const std::int64_t high : {0, 1, 3, 1000}) {
        const Values values = random_values(rows * columns, -high / 2, high, ++seed);
        for (const auto goal : kBothGoals) {
          SCOPED_TRACE(::testing::Message() << rows << " x " << columns << ", to " << high);
          const Assignment assignment = assign(values, rows, columns, goal);
          expect_consistent(assignment, values, rows, columns);
          EXPECT_EQ(assignment.total, best_by_trying_all(values, rows, columns, goal));
        }
      }
    }
  }
}

/// Whether some rows could hand their columns on to each other at a lower total: a cycle of
/// negative length, found by Floyd and Warshall. Without one the assignment is optimal. Square.
bool can_be_lowered(const Assignment& assignment, const Values& costs, std::size_t side) {
  // length[i][j]: the change if row i takes the column of row j.
  Values length(side * side);
  for (std::size_t i = 0; i < side; ++i) {
    const std::int64_t own =
        costs[i * side + static_cast<std::size_t>(assignment.column_of_row[i])];
    for (std::size_t j = 0; j < side; ++j) {
      length[i * side + j] =
          costs[i * side + static_cast<std::size_t>(assignment.column_of_row[j])] - own;
    }
  }
  for (std::size_t via = 0; via < side; ++via) {
    for (std::size_t i = 0; i < side; ++i) {
      for (std::size_t j = 0; j < side; ++j) {
        length[i * side + j] =
            std::min(length[i * side + j], length[i * side + via] + length[via * side + j]);
      }
      if (length[i * side + i] < 0) return true;
    }
  }
  return false;
}

TEST(Assignment, NoExchangeImprovesLargerOnes) {
  const std::size_t side = 90;
  for (const std::int64_t high : {2, 50, 1'000'000}) {
    Values costs = random_values(side * side, 0, high, static_cast<std::uint64_t>(high));
    const Assignment lowest = assign(costs, side, side, AssignmentGoal::kMinimise);
    expect_consistent(lowest, costs, side, side);
    EXPECT_FALSE(can_be_lowered(lowest, costs, side));
    // A wide table is a square one whose last rows cost nothing.
    const std::size_t rows = 60;
    std::fill(costs.begin() + rows * side, costs.end(), 0);
    const Assignment square = assign(costs, side, side, AssignmentGoal::kMinimise);
    EXPECT_FALSE(can_be_lowered(square, costs, side));
    const Values wide(costs.begin(), costs.begin() + rows * side);
    EXPECT_EQ(assign(wide, rows, side, AssignmentGoal::kMinimise).total, square.total);
  }
}

TEST(Assignment, TheCheckOfExchangesSeesABadAssignment) {
  const Values costs = {0, 1, 1, 0};
  EXPECT_FALSE(can_be_lowered({{0, 1}, {0, 1}, 0}, costs, 2));
  EXPECT_TRUE(can_be_lowered({{1, 0}, {1, 0}, 2}, costs, 2));
}

TEST(Assignment, EmptyTablesLeaveEveryoneAlone) {
  for (const auto goal : kBothGoals) {
    EXPECT_TRUE(assign({}, 0, 0, goal).column_of_row.empty());
    EXPECT_THAT(assign({}, 3, 0, goal).column_of_row, ElementsAre(-1, -1, -1));
    EXPECT_THAT(assign({}, 0, 2, goal).row_of_column, ElementsAre(-1, -1));
  }
}

TEST(Assignment, TiesFallAsInScipy) {
  const auto cases = nlohmann::json::parse(
      read_text_file(testing::source_folder() + "/tests/fixtures/assignment_ties.json"));
  ASSERT_GT(cases.size(), 20u);
  for (const auto& one : cases) {
    const auto table = one.at("values").get<std::vector<Values>>();
    Values values;
    for (const auto& row : table) values.insert(values.end(), row.begin(), row.end());
    for (const auto goal : kBothGoals) {
      const auto expected = one.at(goal == AssignmentGoal::kMinimise ? "min" : "max");
      EXPECT_EQ(assign(values, table.size(), table[0].size(), goal).column_of_row,
                expected.get<std::vector<std::int32_t>>())
          << one;
    }
  }
}

TEST(Assignment, RefusesWhatItCannotAddUp) {
  EXPECT_THROW(assign(Values{1, 2, 3}, 2, 2, AssignmentGoal::kMinimise), InternalError);
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(assign(Values{-kHuge, 0, 0, kHuge}, 2, 2, AssignmentGoal::kMinimise), InternalError);
  const std::int64_t large = (std::int64_t{1} << 60) / 3;
  const Values values = {-large, large, large, -large};
  EXPECT_EQ(assign(values, 2, 2, AssignmentGoal::kMinimise).total, -2 * large);
  EXPECT_EQ(assign(values, 2, 2, AssignmentGoal::kMaximise).total, 2 * large);
}

}  // namespace
}  // namespace protogcd
