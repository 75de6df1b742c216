// `protogcd sweep` from end to end on tiny runs.
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/sha256.h"
#include "protogcd/methods/registry.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using testing::run_protogcd;
using testing::signal_protogcd;
using testing::TinyRun;

/// A sweep over the weight of the separation, with the settings of TinyRun.
void write_sweep(const TinyRun& tiny, const std::string& more = "") {
  write_file_atomically(tiny.folder / "sweep.toml", fmt::format(R"toml(
variables = {{ demo = "{0}/demo" }}
[options]
labelled = "{{demo}}/labelled"
unlabelled = "{{demo}}/unlabelled"
truth = "{{demo}}/truth.csv"
k = 16
backbone = "{0}/tiny.safetensors"
image_size = 32
epochs = 12
batch_size = 16
head_hidden = 32
projection = 16
dtype = "float32"
device = "cpu"
{1}
[[axis]]
option = "lambda_sep"
values = [0.0, 0.1]
[[then]]
verb = "evaluate"
[[column]]
name = "All"
pointer = "/all"
[[column]]
name = "again"
pointer = "/unlabelled/all"
step = "evaluate"
)toml",
                                                                tiny.folder.path().string(), more));
}

std::vector<std::string> sweep_command(const TinyRun& tiny, const std::string& out,
                                       std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"sweep", tiny.folder / "sweep.toml", "--out", tiny.folder / out,
                             "--jobs", "1", "--threads", "1"});
  return more;
}

TEST(SweepVerb, AnInterruptedSweepGoesOnToTheSameModels) {
  const TinyRun tiny;
  write_sweep(tiny);
  const auto second_run = tiny.folder / "sweep/cells/0.1_seed-0/run";
  const auto stopped = signal_protogcd(sweep_command(tiny, "sweep"), SIGINT, [&] {
    return std::filesystem::exists(second_run / "metrics.jsonl") &&
           std::filesystem::file_size(second_run / "metrics.jsonl") > 0;
  });
  EXPECT_EQ(stopped.exit_code, 130) << stopped.errors;
  EXPECT_THAT(stopped.errors, HasSubstr("stopped: 1 of 2 cells are finished"));
  EXPECT_FALSE(std::filesystem::exists(second_run / "result.json"));
  EXPECT_TRUE(std::filesystem::exists(second_run / "checkpoints/latest.safetensors"))
      << "the cell saved itself";
  EXPECT_THAT(tiny.read("sweep/table.csv"),
              AllOf(HasSubstr("0,0,finished,"), HasSubstr("0.1,0,pending,")));

  const auto rest = json_of(run_protogcd(sweep_command(tiny, "sweep", {"--json"})));
  ASSERT_EQ(rest.at("cells").size(), 2u);
  for (const auto& cell : rest.at("cells")) {
    EXPECT_TRUE(cell.at("finished"));
    EXPECT_EQ(cell.at("values").at("All"), cell.at("values").at("again"));
    EXPECT_EQ(cell.at("intervals").at("All"), cell.at("intervals").at("again"));
    EXPECT_GE(cell.at("best_on_unlabelled").at("values").at("All"), cell.at("values").at("All"));
    EXPECT_EQ(cell.at("last").at("epoch"), 11);
    EXPECT_EQ(cell.at("evaluated_epochs"), 3) << "every fifth of twelve, and the last";
  }
  EXPECT_THAT(tiny.read("sweep/cells/0.1_seed-0/train.log"), HasSubstr("epoch 12/12"));

  const auto alone = run_protogcd(
      tiny.train("alone", {"--epochs", "12", "--lambda-sep", "0.1", "--eval-every", "1"}));
  EXPECT_EQ(alone.exit_code, 0) << alone.errors;
  EXPECT_EQ(sha256_file(second_run / "model/model.safetensors"),
            sha256_file(tiny.folder / "alone/model/model.safetensors"));

  const auto again = run_protogcd(sweep_command(tiny, "sweep"));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.errors, HasSubstr("2 of 2 cells were finished before"));
  EXPECT_THAT(again.output, HasSubstr("| lambda_sep |"));
}

TEST(SweepVerb, AKilledSweepTakesItsCellsWithIt) {
  const TinyRun tiny;
  write_sweep(tiny);
  const auto run = tiny.folder / "sweep/cells/0_seed-0/run";
  const auto killed =
      signal_protogcd(sweep_command(tiny, "sweep", {"--set", "epochs=100000"}), SIGKILL,
                      [&] { return std::filesystem::exists(run / "metrics.jsonl"); });
  EXPECT_EQ(killed.exit_code, -SIGKILL);
  // The run holds its folder's lock for as long as it lives.
  const int lock = ::open((run / ".lock").c_str(), O_RDWR);
  ASSERT_GE(lock, 0);
  bool ended = false;
  for (int i = 0; i < 600 && !ended; ++i) {
    ended = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ::close(lock);
  EXPECT_TRUE(ended) << "the cell still runs";
}

TEST(SweepVerb, AFailedCellIsToldAndTheExitCodeIsItsOwn) {
  const TinyRun tiny;
  write_sweep(tiny);
  const auto result =
      run_protogcd(sweep_command(tiny, "sweep", {"--set", "epochs=1", "--set", "lr=1e30"}));
  EXPECT_EQ(result.exit_code, 8) << result.errors;
  EXPECT_THAT(result.errors, AllOf(HasSubstr("2 of 2 cells failed"), HasSubstr("train.log"),
                                   HasSubstr("try a lower --lr")));
  EXPECT_THAT(result.output, HasSubstr("| failed |"));
}

TEST(SweepVerb, AMissingFolderIsNamedBeforeTheFirstCell) {
  const TinyRun tiny;
  write_sweep(tiny);
  const auto result = run_protogcd(
      sweep_command(tiny, "sweep", {"--set", "demo=" + (tiny.folder / "nowhere").string()}));
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_THAT(result.errors, AllOf(HasSubstr("there is no"), HasSubstr("nowhere/labelled")));
  EXPECT_FALSE(std::filesystem::exists(tiny.folder / "sweep/cells"));
}

TEST(SweepVerb, RefusesWhatAVerbDoesNotTakeAndNamesFileAndLine) {
  const TinyRun tiny;
  const auto errors_with = [&](const std::string& more, std::vector<std::string> flags = {}) {
    write_sweep(tiny, more);
    flags.push_back("--dry-run");
    const auto result = run_protogcd(sweep_command(tiny, "sweep", flags));
    EXPECT_NE(result.exit_code, 0) << result.output;
    return result.errors;
  };
  EXPECT_THAT(errors_with("ephocs = 3"), AllOf(HasSubstr("sweep.toml:16: 'train' has no option "
                                                         "'ephocs'; did you mean 'epochs'")));
  EXPECT_THAT(errors_with("lr = -1.0"), HasSubstr("sweep.toml:16: lr: '-1' is not allowed"));
  EXPECT_THAT(errors_with("[[then]]\nverb = \"evaluete\""),
              HasSubstr("sweep.toml:16: a sweep cannot run the verb 'evaluete'; did you mean "
                        "'evaluate'"));
  EXPECT_THAT(errors_with("", {"--set", "ephocs=1"}), HasSubstr("--set ephocs=1: 'train' has no"));
  EXPECT_THAT(errors_with("", {"--seeds", "x"}), HasSubstr("--seeds: 'x' is not allowed"));
  EXPECT_FALSE(std::filesystem::exists(tiny.folder / "sweep"));
}

TEST(SweepVerb, DryRunPrintsCommandsThatWork) {
  const TinyRun tiny;
  write_sweep(tiny);
  const auto dry =
      run_protogcd(sweep_command(tiny, "out", {"--dry-run", "--seeds", "4", "--seeds", "5"}));
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_EQ(std::ranges::count(dry.output, '\n'), 8) << "two values, two seeds, two steps";
  EXPECT_THAT(dry.output, HasSubstr("--seed 5 --out "));
  EXPECT_THAT(dry.output, HasSubstr("protogcd evaluate --device cpu --dtype float32 --labelled "));
  EXPECT_FALSE(std::filesystem::exists(tiny.folder / "out"));
}

TEST(SweepVerb, StepsThatWriteFilesWriteThemIntoTheCell) {
  const TinyRun tiny;
  write_sweep(tiny,
              "[[then]]\nverb = \"retrieve\"\noptions = { top = 1 }\n"
              "[[then]]\nverb = \"attention\"\n"
              "options = { images = \"{demo}/unlabelled\", limit = 1 }");
  const auto result =
      json_of(run_protogcd(sweep_command(tiny, "sweep", {"--set", "epochs=1", "--json"})));
  const auto cell = tiny.folder / "sweep/cells/0.1_seed-0";
  for (const char* name : {"retrieve/examples.csv", "attention.png", "evaluate/evaluation.json"})
    EXPECT_TRUE(std::filesystem::exists(cell / name)) << name;
  EXPECT_TRUE(result.at("cells")[1].at("finished"));
}

TEST(SweepVerb, APointerThatIsMissingIsNamedAndNoSecondTryPromised) {
  const TinyRun tiny;
  write_sweep(tiny, "[[column]]\nname = \"Lost\"\nstep = \"evaluate\"\npointer = \"/lost\"");
  const auto result = run_protogcd(sweep_command(tiny, "sweep", {"--set", "epochs=1"}));
  EXPECT_EQ(result.exit_code, 4) << result.errors;
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("column 'Lost': step 'evaluate' printed no number at /lost"),
                    HasSubstr("correct the pointer of column 'Lost'"),
                    ::testing::Not(HasSubstr("tries them again"))));
}

TEST(SweepVerb, AFlagThatMayBeRepeatedLeavesTheFileItsPlace) {
  const TinyRun tiny;
  write_sweep(tiny);
  const auto dry =
      run_protogcd({"sweep", "--set", "epochs=2", "--set", "batch_size=8",
                    tiny.folder / "sweep.toml", "--out", tiny.folder / "out", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_THAT(dry.output, AllOf(HasSubstr("--epochs 2"), HasSubstr("--batch-size 8")));
}

TEST(OldClasses, AreRecordedSoThatEvaluateSeesTheSameSplit) {
  const TinyRun tiny;
  const auto trained =
      json_of(run_protogcd(tiny.train("run", {"--old-classes", "3", "--epochs", "1"})));
  EXPECT_EQ(trained.at("images").at("labelled"), 9);
  EXPECT_EQ(trained.at("images").at("unlabelled"), 87);
  EXPECT_EQ(trained.at("k_new"), 13);
  const std::string demo = tiny.folder / "demo";
  const std::vector<std::string> data = {"--labelled",   demo + "/labelled",
                                         "--unlabelled", demo + "/unlabelled",
                                         "--truth",      demo + "/truth.csv"};
  std::vector<std::string> evaluate = {"evaluate",  "--model", tiny.folder / "run", "--json",
                                       "--threads", "1",       "--dtype",           "float32"};
  evaluate.insert(evaluate.end(), data.begin(), data.end());
  const auto judged = json_of(run_protogcd(evaluate));
  EXPECT_EQ(judged.at("samples"), 87);
  EXPECT_EQ(judged.at("all"), trained.at("all"));
  EXPECT_EQ(judged.at("old"), trained.at("old"));

  const auto other =
      run_protogcd({"train", "--out", tiny.folder / "run", "--resume", "--old-classes", "5"});
  EXPECT_NE(other.exit_code, 0) << "a run does not go on with another split";
}

// Each cell has the options of its own method; another's are named with their owner.
TEST(SweepVerb, MethodsCanBeAnAxis) {
  const testing::TemporaryFolder folder;
  std::string points;
  for (const std::string& name : method_names())
    points += fmt::format("[[axis.point]]\nlabel = \"{0}\"\nmethod = \"{0}\"\n", name);
  const auto plan = [&](const std::string& options) {
    write_file_atomically(folder / "sweep.toml",
                          "[options]\nlabelled = \"a\"\nunlabelled = \"b\"\nk = 3\n" + options +
                              "[[axis]]\nname = \"method\"\n" + points +
                              "[[column]]\nname = \"All\"\npointer = \"/all\"\n");
    return run_protogcd({"sweep", folder / "sweep.toml", "--out", folder / "out", "--dry-run"});
  };
  const auto planned = plan("");
  EXPECT_EQ(planned.exit_code, 0) << planned.errors;
  for (const std::string& name : method_names())
    EXPECT_THAT(planned.output, HasSubstr("--method " + name));
  if (method_names().size() == 1) return;
  const auto foreign = plan("lambda_sep = 0.2\n");
  EXPECT_EQ(foreign.exit_code, 3);
  EXPECT_THAT(foreign.errors, AllOf(HasSubstr("lambda-sep"), HasSubstr("protogcd")));
}

}  // namespace
}  // namespace protogcd
