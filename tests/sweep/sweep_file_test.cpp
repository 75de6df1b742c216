// Sweep files: what a good one says, and how a bad one is refused.
#include "protogcd/sweep/sweep_file.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/error_message.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

constexpr const char* kColumn = "[[column]]\nname = \"All\"\npointer = \"/all\"\n";

SweepFile parse(const std::string& text) {
  return parse_sweep(text, "s.toml");
}
/// What is said of a text that a good column follows.
std::string problem(const std::string& text) {
  return message_of<ConfigError>([&] { parse(text + "\n" + kColumn); });
}

TEST(SweepFile, HoldsWhatTheFileSays) {
  const SweepFile file = parse(R"toml(
title = "A title"
verb = "discover"
seeds = [3, 1]
variables = { data = "d" }
[options]
epochs = 5
classes = ["a", "b"]
fast = true
[[axis]]
name = "row"
[[axis.point]]
label = "(a)"
weight_dapl = 0.0
[[axis.point]]
label = "(b)"
[[axis]]
option = "ramp_epochs"
values = [0, 200]
[[then]]
verb = "evaluate"
options = { dtype = "float32" }
[[column]]
name = "All"
pointer = "/all"
[[column]]
name = "Test"
pointer = "/test/all"
step = "evaluate"
percent = true
digits = 2
[paper]
source = "Table 7"
rows = [["(b)", 200, 81.9, nan]]
)toml");
  EXPECT_EQ(file.title, "A title");
  EXPECT_THAT(file.seeds, ElementsAre(3, 1));
  ASSERT_EQ(file.steps.size(), 2u);
  EXPECT_EQ(file.steps[0].verb, "discover");
  EXPECT_EQ(file.steps[0].settings.size(), 3u);
  ASSERT_EQ(file.axes.size(), 2u);
  EXPECT_EQ(file.axes[0].points[0].settings[0].key, "weight_dapl");
  EXPECT_EQ(file.axes[1].name, "ramp_epochs");
  EXPECT_EQ(file.axes[1].points[1].label, "200");
  EXPECT_EQ(file.columns[1].step, 1u);
  EXPECT_TRUE(file.columns[1].percent);
  ASSERT_EQ(file.paper.size(), 1u);
  EXPECT_THAT(file.paper.begin()->first, ElementsAre(1, 1));
  EXPECT_EQ(file.paper.begin()->second[0], 81.9);
  EXPECT_TRUE(std::isnan(file.paper.begin()->second[1]));
  ASSERT_TRUE(file.chart) << "two axes have a chart unasked";
  EXPECT_EQ(file.chart->x, 1u);
  EXPECT_EQ(file.chart->lines, 0u);
}

TEST(SweepFile, SaysLittleWhereLittleIsNeeded) {
  const SweepFile file = parse(kColumn);
  EXPECT_EQ(file.title, "s");
  EXPECT_EQ(file.steps.front().verb, "train");
  EXPECT_THAT(file.seeds, ElementsAre(0));
  EXPECT_TRUE(file.axes.empty());
  EXPECT_FALSE(file.chart);
}

TEST(SweepFile, NamesFileLineAndKeyOfWhatIsWrong) {
  EXPECT_THAT(problem("\nseads = [1]"),
              AllOf(HasSubstr("s.toml:2: unknown key 'seads'"), HasSubstr("did you mean 'seeds'")));
  EXPECT_THAT(problem("title = "), HasSubstr("s.toml:1: "));
  EXPECT_THAT(problem("seeds = []"), HasSubstr("s.toml:1: seeds: is empty"));
  EXPECT_THAT(problem("seeds = [1, 1]"), HasSubstr("seeds: 1 is there twice"));
  EXPECT_THAT(problem("seeds = [-1]"), HasSubstr("seeds: expected whole numbers"));
  EXPECT_THAT(problem("title = 3"), HasSubstr("s.toml:1: title: expected a text"));
  EXPECT_THAT(problem("options = 3"), HasSubstr("options: expected a table"));
  EXPECT_THAT(problem("[options]\nepochs = 1979-05-27"), HasSubstr("s.toml:2: epochs: expected"));
  EXPECT_THAT(problem("[options]\nseed = 1"), HasSubstr("give seeds = [...]"));
  EXPECT_THAT(problem("[options]\nout = \"x\""), HasSubstr("s.toml:2: out: the sweep itself"));
  EXPECT_THAT(message_of<ConfigError>([] { parse("title = \"x\""); }), HasSubstr("no [[column]]"));
}

TEST(SweepFile, RefusesStepsThatWouldShareFiles) {
  const std::string evaluate = "[[then]]\nverb = \"evaluate\"\n";
  EXPECT_THAT(problem(evaluate + evaluate),
              HasSubstr("s.toml:3: [[then]]: 'evaluate' is there twice"));
  EXPECT_THAT(problem(evaluate + "name = \"far sets\"\n" + evaluate + "name = \"far-sets\""),
              HasSubstr("s.toml:4: [[then]]: 'far sets' and 'far-sets' would have the same files"));
  EXPECT_THAT(problem(evaluate + "name = \"run\""), HasSubstr("'run' is no name for a step"));
}

TEST(SweepFile, RefusesAxesWithoutMeaning) {
  EXPECT_THAT(problem("[[axis]]\noption = \"a\"\nvalues = []"),
              HasSubstr("axis 'a' has no points"));
  EXPECT_THAT(problem("[[axis]]\noption = \"a\""), HasSubstr("s.toml:1: [[axis]] needs 'values'"));
  EXPECT_THAT(problem("[[axis]]\noption = \"a\"\nvalues = [1, 2, 1]"),
              HasSubstr("the label '1' is there twice"));
  EXPECT_THAT(problem("[[axis]]\nname = \"n\"\n[[axis.point]]\nlabel = \"a b\"\n"
                      "[[axis.point]]\nlabel = \"a-b\""),
              HasSubstr("'a-b' gives no folder of its own"));
  EXPECT_THAT(problem("[[axis]]\nname = \"n\"\n[[axis.point]]\na = 1"),
              HasSubstr("s.toml:3: [[axis.point]] needs 'label'"));
  EXPECT_THAT(problem("[[axis]]\noption = \"a\"\nvalues = [1]\n[[axis]]\noption = \"b\"\n"
                      "name = \"a\"\nvalues = [1]"),
              HasSubstr("s.toml:4: [[axis]]: the name 'a' is there twice"));
  EXPECT_THAT(problem("[[axis]]\noption = \"a\"\nvalues = [1]\n[[axis]]\noption = \"a\"\n"
                      "name = \"other\"\nvalues = [2]"),
              HasSubstr("s.toml:7: 'a' is set by the axes 'a' and 'other'"));
}

TEST(SweepFile, RefusesColumnsAndStepsThatDoNotFit) {
  EXPECT_THAT(problem("[[column]]\nname = \"x\"\npointer = \"all\""),
              HasSubstr("'all' is no JSON pointer"));
  EXPECT_THAT(problem("[[column]]\nname = \"All\"\npointer = \"/x\""),
              HasSubstr("the name 'All' is there twice"));
  EXPECT_THAT(problem("[[column]]\nname = \"x\"\npointer = \"/x\"\nstep = \"ood\""),
              HasSubstr("there is no step 'ood'"));
  EXPECT_THAT(problem("[[then]]\nname = \"x\""), HasSubstr("[[then]] needs 'verb'"));
  EXPECT_THAT(problem("[[then]]\nverb = \"evaluate\"\n[[then]]\nverb = \"evaluate\""),
              HasSubstr("s.toml:3: [[then]]: 'evaluate' is there twice"));
}

TEST(SweepFile, ThePapersNumbersBelongToCellsThatExist) {
  const std::string axis = "[[axis]]\noption = \"a\"\nvalues = [0.1, 2.0]\n" + std::string(kColumn);
  const auto paper = [&](const std::string& rows) {
    return message_of<ConfigError>(
        [&] { parse(axis + "[paper]\nsource = \"T\"\nrows = [" + rows + "]"); });
  };
  EXPECT_EQ(paper("[0.1, 44.5], [2.0, 1]"), "accepted");
  EXPECT_THAT(paper("[0.3, 44.5]"), AllOf(HasSubstr("s.toml:9"), HasSubstr("no point '0.3'")));
  EXPECT_THAT(paper("[0.1]"), HasSubstr("expected 1 labels and 1 numbers, found 1 values"));
  EXPECT_THAT(paper("[0.1, \"x\"]"), HasSubstr("expected a number"));
  EXPECT_THAT(paper("[0.1, 1], [0.1, 2]"), HasSubstr("this cell is there twice"));
  EXPECT_THAT(message_of<ConfigError>([&] { parse(axis + "[paper]\nrows = []"); }),
              HasSubstr("[paper] needs 'source'"));
  const std::string method = "\n[[paper.method]]\nname = \"GCD\"\nrows = [[0.1, 4]]";
  const std::string with = axis + "[paper]\nsource = \"T\"\nrows = []" + method;
  EXPECT_EQ(parse(with).paper_methods.at(0).second.begin()->second[0], 4);
  EXPECT_THAT(message_of<ConfigError>([&] { parse(with + method); }),
              HasSubstr("'GCD' is there twice"));
  EXPECT_THAT(message_of<ConfigError>([&] { parse(with + "\n[[paper.method]]\nrows = []"); }),
              HasSubstr("needs 'name'"));
  const std::string epoch = axis + "[paper]\nsource = \"T\"\nrows = []\nepoch = ";
  EXPECT_EQ(parse(epoch + "\"best_on_test\"").paper_epoch, WhichEpoch::kBestOnTest);
  EXPECT_FALSE(parse(axis).paper_epoch);
  EXPECT_THAT(message_of<ConfigError>([&] { parse(epoch + "\"best\""); }),
              HasSubstr("expected last, best_on_unlabelled or best_on_test"));
  EXPECT_THAT(message_of<ConfigError>(
                  [&] { parse(axis + "[paper]\nsource = \"T\"\ncolumns = [\"Old\"]\nrows = []"); }),
              HasSubstr("there is no column 'Old'"));
}

TEST(SweepFile, AChartNeedsAxesAndColumnsThatExist) {
  const std::string axes =
      "[[axis]]\noption = \"a\"\nvalues = [1, 2]\n[[axis]]\noption = \"b\"\nvalues = [1, 2]\n";
  EXPECT_THAT(problem(axes + "[chart]\nx = \"c\""), HasSubstr("x: there is no axis 'c'"));
  EXPECT_THAT(problem(axes + "[chart]\nx = \"a\""), HasSubstr("axis 'b' is neither x nor lines"));
  EXPECT_THAT(problem(axes + "[chart]\nx = \"a\"\nlines = \"a\""), HasSubstr("another axis"));
  EXPECT_THAT(problem(axes + "[chart]\nx = \"a\"\nlines = \"b\"\ny = \"Old\""),
              HasSubstr("y: there is no column 'Old'"));
}

TEST(SweepFile, OverridesWinOverOptionsAndVariablesButNotOverAxes) {
  SweepFile file = parse(
      std::string("[variables]\ndata = \"d\"\n[options]\nepochs = 5\n[[axis]]\noption = \"k\"\n"
                  "values = [1]\n") +
      kColumn);
  apply_override(file, "data=/mnt/x=y");
  apply_override(file, "epochs=2");
  apply_override(file, "fast-decode=true");
  EXPECT_EQ(file.variables["data"], "/mnt/x=y");
  ASSERT_EQ(file.steps[0].settings.size(), 2u);
  EXPECT_THAT(file.steps[0].settings[0].values, ElementsAre("2"));
  EXPECT_EQ(file.steps[0].settings[1].key, "fast_decode");
  EXPECT_EQ(file.steps[0].settings[1].kind, Setting::Kind::kSwitch);
  EXPECT_THAT(message_of<UsageError>([&] { apply_override(file, "k=3"); }),
              HasSubstr("set k=3: the axis 'k' sets it"));
  EXPECT_THAT(message_of<UsageError>([&] { apply_override(file, "epochs"); }),
              HasSubstr("expected key=value"));
  EXPECT_THAT(message_of<UsageError>([&] { apply_override(file, "out=x"); }),
              HasSubstr("the sweep itself"));
}

}  // namespace
}  // namespace protogcd
