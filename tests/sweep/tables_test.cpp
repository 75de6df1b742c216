// Tables and chart made of known numbers.
#include <gmock/gmock.h>

#include <cmath>

#include "protogcd/core/csv.h"
#include "protogcd/sweep/results.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kText = R"(
title = "Ramp <&> more"
seeds = [0, 1]
[[axis]]
name = "dataset"
[[axis.point]]
label = "A|B"
[[axis.point]]
label = "<C>"
[[axis]]
option = "ramp_epochs"
values = [0, 100]
[[column]]
name = "All"
pointer = "/all"
[[column]]
name = "NMI"
pointer = "/nmi"
digits = 3
[paper]
source = "Figure 6"
columns = ["All"]
rows = [["A|B", 100, 80.0]]
)";

/// Two datasets, two lengths, two seeds: eight cells.
class Tables : public ::testing::Test {
 protected:
  Tables() {
    for (const Cell& cell : cells_) {
      const double all = 50 + 20.0 * double(cell.at[1]) + 2 * double(cell.seed);
      results_.results.push_back({.state = CellState::kFinished,
                                  .values = {all, all / 200},
                                  .seconds = 12.34,
                                  .problem = {},
                                  .hint = {}});
    }
  }
  void fail(std::size_t cell) {
    results_.results[cell] = {
        .state = CellState::kFailed, .values = {}, .problem = "no | disk", .hint = {}};
  }

  SweepFile file_ = parse_sweep(kText, "s.toml");
  std::vector<Cell> cells_ =
      plan_cells(file_, "out", [](const SweepStep&) { return VerbTraits(); });
  SweepResults results_{.file = &file_, .cells = &cells_, .results = {}};
};

TEST_F(Tables, CsvHasARowForEachCell) {
  fail(7);
  const CsvTable table = CsvTable::parse(to_csv(results_), "t.csv");
  EXPECT_THAT(table.header(), ElementsAre("dataset", "ramp_epochs", "seed", "state", "All", "NMI",
                                          "seconds", "folder"));
  ASSERT_EQ(table.rows().size(), 8u);
  EXPECT_THAT(table.rows()[5].fields, ElementsAre("A|B", "100", "1", "finished", "72", "0.36",
                                                  "12.3", "cells/A-B_100_seed-1"));
  EXPECT_THAT(table.rows()[7].fields,
              ElementsAre("<C>", "100", "1", "failed", "", "", "", "cells/C_100_seed-1"));
}

TEST_F(Tables, MarkdownHasMeanDeviationAndThePapersNumberBeside) {
  const std::string text = to_markdown(results_);
  // 70 and 72: mean 71, deviation sqrt(2).
  EXPECT_THAT(text, HasSubstr("| A\\|B    | 100         | 71.0 ± 1.4 | 80.0  | -9.0       | "
                              "0.355 ± 0.007 |"));
  EXPECT_THAT(text, HasSubstr("| A\\|B    | 0           | 51.0 ± 1.4 | –     |            |"));
  EXPECT_THAT(text, HasSubstr("8 of 8 cells finished; seeds 0, 1"));
  EXPECT_THAT(text, HasSubstr("The paper's numbers: Figure 6."));
}

TEST_F(Tables, MarkdownTellsFailedAndMissingCells) {
  fail(0);
  results_.results[4].state = CellState::kPending;
  fail(7);
  const std::string text = to_markdown(results_);
  EXPECT_THAT(text, HasSubstr("| A\\|B    | 0           | failed "));
  EXPECT_THAT(text, HasSubstr("| 70.0 (1 of 2) |")) << "one seed has no deviation";
  EXPECT_THAT(text, HasSubstr("5 of 8 cells finished"));
  EXPECT_THAT(text, HasSubstr("Failed: A\\|B, 0, seed 0: no \\| disk"));
}

TEST_F(Tables, ANumberThatThereIsNotIsADash) {
  for (auto& result : results_.results) result.values[1] = std::nan("");
  EXPECT_THAT(to_markdown(results_), HasSubstr("| –   |\n"));
  EXPECT_THAT(to_csv(results_), HasSubstr(",finished,50,,12.3,"));
}

TEST_F(Tables, TheChartIsSvgWithLinesBarsAndEscapedText) {
  const std::string svg = to_svg(results_);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("Ramp &lt;&amp;&gt; more"));
  EXPECT_THAT(svg, HasSubstr(">&lt;C&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr(">paper</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(what); at != svg.npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("r=\"4.5\" fill=\"#ffffff\""), 1u) << "the paper's one point is hollow";
  EXPECT_EQ(count("stroke-width=\"1.5\""), 4u) << "a bar for each mean over seeds";
  EXPECT_EQ(count("stroke-width=\"2\" stroke=\""), 2u) << "a line for each dataset";
}

TEST_F(Tables, AChartWithoutNumbersIsEmptyButThere) {
  for (auto& result : results_.results) result.state = CellState::kPending;
  file_.paper.clear();
  const std::string svg = to_svg(results_);
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  file_.chart.reset();
  EXPECT_EQ(to_svg(results_), "");
}

}  // namespace
}  // namespace protogcd
