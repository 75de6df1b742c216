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

TEST_F(Tables, OtherMethodsOfThePaperHaveATableOfTheirOwn) {
  EXPECT_THAT(to_markdown(results_), Not(HasSubstr("Other methods")));
  file_ = parse_sweep(
      std::string(kText) + "[[paper.method]]\nname = \"G|CD\"\nrows = [[\"<C>\", 0, 73.04]]\n",
      "s.toml");
  const std::string text = to_markdown(results_);
  const std::size_t table = text.find("## Other methods, as the paper tells them");
  ASSERT_NE(table, text.npos);
  EXPECT_THAT(text.substr(table), HasSubstr("| G\\|CD  | <C>     | 0           | 73.0 | –   |"));
}

TEST_F(Tables, ANumberThatThereIsNotIsADash) {
  for (auto& result : results_.results) result.values[1] = std::nan("");
  EXPECT_THAT(to_markdown(results_), HasSubstr("| –   |\n"));
  EXPECT_THAT(to_csv(results_), HasSubstr(",finished,50,,12.3,"));
}

/// Beside every All: an interval, and the best epochs of ten, of which `evaluated` were looked at.
class EpochTables : public Tables {
 protected:
  void tell(double evaluated) {
    for (CellResult& result : results_.results) {
      const double all = result.values[0];
      result.beside = {{.low = all - 3, .high = all + 1}, {}};
      result.beside[0].best_on_unlabelled = all + 4;
      result.epochs = {.evaluated = evaluated, .all = 10, .last = 10, .best_on_unlabelled = 7};
    }
  }
};

TEST_F(EpochTables, ADifferenceSaysWhichEpochItSubtractsThePaperFrom) {
  tell(10);
  EXPECT_EQ(results_.compared_epoch(0), WhichEpoch::kBestOnUnlabelled) << "like with like";
  const std::string best = to_markdown(results_);
  EXPECT_THAT(best, HasSubstr("| paper | best_on_unlabelled − paper | NMI"));
  EXPECT_THAT(best, HasSubstr("| 80.0  | -5.0 "));
  EXPECT_THAT(best, HasSubstr("Every epoch was evaluated"));
  tell(5);
  const std::string last = to_markdown(results_);
  EXPECT_THAT(last, HasSubstr("| paper | last − paper | NMI"));
  EXPECT_THAT(last, HasSubstr("| 80.0  | -9.0 "));
  EXPECT_THAT(last, HasSubstr("5 of 10 epochs were evaluated"));
  file_.paper_epoch = WhichEpoch::kBestOnUnlabelled;
  EXPECT_EQ(results_.compared_epoch(0), WhichEpoch::kBestOnUnlabelled) << "the file says so";
  EXPECT_EQ(results_.compared_epoch(1), WhichEpoch::kLast) << "nobody tells the best NMI";
  file_.paper_epoch = WhichEpoch::kLast;
  tell(10);
  EXPECT_THAT(to_markdown(results_), HasSubstr("last − paper"));
}

TEST_F(EpochTables, ACellThatTellsNoBestEpochLeavesTheLastOnesCompared) {
  tell(10);
  results_.results[3].beside.clear();
  results_.results[3].epochs = {};
  EXPECT_EQ(results_.compared_epoch(0), WhichEpoch::kLast);
}

TEST_F(EpochTables, LastAndBestAreBesideEachOther) {
  tell(10);
  const std::string text = to_markdown(results_);
  EXPECT_THAT(text, HasSubstr("## Last and best epochs"));
  EXPECT_THAT(text,
              HasSubstr("| A\\|B    | 100         | last               | 10    | 71.0 ± 1.4 |\n"
                        "| A\\|B    | 100         | best_on_unlabelled | 7     | 75.0 ± 1.4 |\n"
                        "| <C>     | 0           | last "));
  EXPECT_THAT(text, Not(HasSubstr("best_on_test")));
}

TEST_F(EpochTables, IntervalsStandBesideMeanAndDeviation) {
  tell(10);
  EXPECT_THAT(to_markdown(results_), HasSubstr("| 71.0 ± 1.4 [68.0, 72.0] |"));
  results_.results[5].beside.clear();
  EXPECT_TRUE(std::isnan(results_.interval(cells_[5].at, 0).low)) << "not of one seed alone";
}

TEST_F(EpochTables, CsvHasThemAsColumns) {
  tell(5);
  fail(7);
  const CsvTable table = CsvTable::parse(to_csv(results_), "t.csv");
  EXPECT_THAT(table.header(),
              ElementsAre("dataset", "ramp_epochs", "seed", "state", "All", "NMI", "All low",
                          "All high", "All best_on_unlabelled", "evaluated epochs", "last epoch",
                          "best_on_unlabelled epoch", "seconds", "folder"));
  EXPECT_THAT(table.rows()[5].fields,
              ElementsAre("A|B", "100", "1", "finished", "72", "0.36", "69", "73", "76", "5", "10",
                          "7", "12.3", "cells/A-B_100_seed-1"));
  EXPECT_EQ(table.rows()[7].fields[8], "");
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
