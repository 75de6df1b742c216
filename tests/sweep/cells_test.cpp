// The grid, and the commands of its cells.
#include "protogcd/sweep/cells.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/sweep/cell_record.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

VerbTraits traits_of(const SweepStep& step) {
  const bool trains = step.verb == "train";
  return {.resumes = trains,
          .overwrites = false,
          .takes_model = !trains,
          .shared_keys = {"dataset", "root", "old_classes"}};
}

std::vector<Cell> plan(const std::string& text) {
  const SweepFile file =
      parse_sweep(text + "\n[[column]]\nname = \"All\"\npointer = \"/all\"\n", "s.toml");
  return plan_cells(file, "out", traits_of);
}

TEST(Cells, AreTheProductOfAxesAndSeeds) {
  const auto cells = plan(
      "seeds = [0, 7]\n[[axis]]\noption = \"a\"\nvalues = [1, 2]\n[[axis]]\noption = \"b\"\n"
      "values = [\"x\", \"y\", \"z\"]");
  ASSERT_EQ(cells.size(), 12u);
  std::set<std::string> slugs;
  for (const Cell& cell : cells) slugs.insert(cell.slug);
  EXPECT_EQ(slugs.size(), 12u);
  EXPECT_EQ(cells[0].slug, "1_x_seed-0");
  EXPECT_EQ(cells[1].slug, "1_y_seed-0") << "the last axis counts fastest";
  EXPECT_EQ(cells[6].slug, "1_x_seed-7") << "a seed after the other";
  EXPECT_THAT(cells[11].steps[0].words,
              ElementsAre("train", "--a", "2", "--b", "z", "--seed", "7"));
}

TEST(Cells, AnAxisWinsOverOptionsAndValuesKeepTheirKind) {
  const auto cells = plan(
      "[options]\nepochs = 5\nslow = false\nfast = true\nshift = -1\nname = \"\"\n"
      "list = [\"a\", \"b c\"]\n[[axis]]\noption = \"epochs\"\nvalues = [9]");
  EXPECT_THAT(cells[0].steps[0].words,
              ElementsAre("train", "--fast", "--list", "a", "--list", "b c",
                          "--name=", "--shift=-1", "--slow=false", "--epochs", "9", "--seed", "0"));
}

TEST(Cells, LaterStepsAreToldWhereTheDataIs) {
  const auto cells = plan(
      "[options]\ndataset = \"cub\"\nroot = \"{data}/cub\"\nepochs = 5\n"
      "[[axis]]\noption = \"old_classes\"\nvalues = [3]\n"
      "[[then]]\nverb = \"evaluate\"\noptions = { root = \"{data}/seed-{seed}\" }\n"
      "[variables]\ndata = \"d\"");
  ASSERT_EQ(cells[0].steps.size(), 2u);
  EXPECT_THAT(cells[0].steps[0].words,
              ElementsAre("train", "--dataset", "cub", "--epochs", "5", "--root", "d/cub",
                          "--old-classes", "3", "--seed", "0"));
  EXPECT_THAT(cells[0].steps[1].words, ElementsAre("evaluate", "--dataset", "cub", "--old-classes",
                                                   "3", "--root", "d/seed-0", "--seed", "0"));
}

TEST(Cells, OptionsAndPointersMayHoldTheLabelOfAnAxis) {
  const auto cells = plan(
      "[options]\nroot = \"d/{kind}\"\n[[axis]]\noption = \"kind\"\nvalues = [\"fog\"]\n"
      "[[column]]\nname = \"Severe\"\npointer = \"/{kind}/5\"");
  EXPECT_THAT(cells[0].steps[0].words,
              ElementsAre("train", "--root", "d/fog", "--kind", "fog", "--seed", "0"));
  EXPECT_THAT(cells[0].pointers, ElementsAre("/fog/5", "/all"));
}

TEST(Cells, AVariableThatIsNotThereIsNamed) {
  EXPECT_THAT(message_of<ConfigError>([] { plan("[options]\nroot = \"{dta}/x\""); }),
              HasSubstr("s.toml:2: root: there is no variable 'dta'"));
}

TEST(Cells, AGridThatNobodyCanRunIsRefused) {
  std::string text;
  for (int axis = 0; axis < 20; ++axis) {
    text += "[[axis]]\noption = \"a" + std::to_string(axis) + "\"\nvalues = [1, 2, 3, 4, 5]\n";
  }
  EXPECT_THAT(message_of<ConfigError>([&] { plan(text); }), HasSubstr("more than 100000 cells"));
}

TEST(Cells, ACommandGoesOnWithTheRunThatIsThere) {
  const auto cells = plan("[[then]]\nverb = \"evaluate\"");
  const testing::TemporaryFolder folder;
  const std::string run = folder / "run";
  EXPECT_THAT(command_of(cells[0].steps[0], folder.path(), 2),
              ElementsAre("train", "--seed", "0", "--out", run, "--threads", "2", "--json"));
  EXPECT_THAT(command_of(cells[0].steps[1], folder.path(), 1),
              ElementsAre("evaluate", "--seed", "0", "--model", run, "--threads", "1", "--json"));
  std::filesystem::create_directory(run);
  EXPECT_THAT(
      command_of(cells[0].steps[0], folder.path(), 2),
      ElementsAre("train", "--seed", "0", "--out", run, "--overwrite", "--threads", "2", "--json"));
  write_file_atomically(folder / "run/config.toml", "");
  EXPECT_THAT(
      command_of(cells[0].steps[0], folder.path(), 2),
      ElementsAre("train", "--seed", "0", "--out", run, "--resume", "--threads", "2", "--json"));
}

TEST(Cells, TheCellsFolderIsFilledInWhenTheCommandIsMade) {
  const auto cells = plan("[options]\ncurve = \"{cell}/curve.csv\"");
  EXPECT_THAT(cells[0].steps[0].words,
              ElementsAre("train", "--curve", "{cell}/curve.csv", "--seed", "0"))
      << "what is recorded does not depend on how --out is spelled";
  EXPECT_THAT(command_of(cells[0].steps[0], "/there", 1),
              ElementsAre("train", "--curve", "/there/curve.csv", "--seed", "0", "--out",
                          "/there/run", "--threads", "1", "--json"));
}

TEST(Cells, AnOutputThatIsNoRunIsCalledAsItsStep) {
  const auto output = [](const std::string& name, const std::string& ending) {
    CellStep step;
    step.name = name;
    step.traits.out_ending = ending;
    step.words = {name};
    return command_of(step, "cell", 1);
  };
  EXPECT_THAT(output("attention", ".png"),
              ElementsAre("attention", "--out", "cell/attention.png", "--threads", "1", "--json"));
  EXPECT_THAT(output("retrieve", ""),
              ElementsAre("retrieve", "--out", "cell/retrieve", "--threads", "1", "--json"));
}

TEST(Cells, CommandsOfALaterFormatAreRefusedByName) {
  const testing::TemporaryFolder folder;
  const auto cells = plan("");
  const CellRecord record(folder.path(), cells[0]);
  record.begin(0);
  EXPECT_FALSE(record.change());
  const auto file = folder / (cells[0].steps[0].name + ".command.json");
  nlohmann::json command = parse_json(read_text_file(file));
  command["format"] = 2;
  write_file_atomically(file, command.dump());
  EXPECT_THAT(message_of<ModelFileError>([&] { record.change(); }),
              HasSubstr(file.filename().string() + ": format 2 is not known"));
}

TEST(Cells, LabelsBecomeNamesOfFolders) {
  EXPECT_EQ(label_slug("CIFAR-100"), "CIFAR-100");
  EXPECT_EQ(label_slug("without L_sep / DAPL!"), "without-L-sep-DAPL");
  EXPECT_EQ(label_slug("../x"), "x");
  EXPECT_EQ(label_slug("0.05"), "0.05");
  EXPECT_EQ(label_slug(".."), "");
}

TEST(Cells, ShellLinesAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(shell_line({"a", "--x=1", "it's here", ""}), R"(a --x=1 'it'\''s here' '')");
}

}  // namespace
}  // namespace protogcd
