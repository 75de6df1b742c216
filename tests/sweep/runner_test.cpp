// Cells run as processes: here a shell script stands for the program.
#include "protogcd/sweep/runner.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>
#include <thread>

#include "protogcd/core/file_lock.h"
#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/sweep/cell_record.h"
#include "protogcd/sweep/child_process.h"
#include "tests/support/error_message.h"
#include "tests/support/recorded_host.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
using ::testing::StartsWith;

/// `train` prints 10 times the value of --k; k = 3 fails while the file `broken` is there; k = 7
/// is killed; k = 9 sleeps for long. `evaluate` prints its model. Every call is noted.
constexpr const char* kScript = R"(#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/calls"
verb=$1
while [ $# -gt 0 ]; do
  case "$1" in --k) k=$2 ;; --out) mkdir -p "$2"; echo > "$2/config.toml" ;; esac
  shift
done
if [ "$verb" = evaluate ]; then echo '{"nmi": 0.5}'; exit 0; fi
if [ "$k" = 3 ] && [ -e "$here/broken" ]; then echo "protogcd: error: no such data" >&2; exit 4; fi
if [ "$k" = 7 ]; then echo "warning: all is well" >&2; kill -9 $$; fi
if [ "$k" = 9 ] && [ ! -e "$here/quick" ]; then trap 'exit 130' TERM; sleep 60 & wait; fi
echo "{\"all\": ${k}0}"
)";

class Runner : public ::testing::Test {
 protected:
  Runner() { write_program(kScript); }

  void write_program(const char* script) {
    write_file_atomically(folder_ / "program", script);
    std::filesystem::permissions(folder_ / "program", std::filesystem::perms::owner_all);
  }

  void write(const std::string& head, const std::string& values) {
    write_file_atomically(
        folder_ / "s.toml",
        fmt::format("{}\n[[axis]]\noption = \"k\"\nvalues = [{}]\n[[column]]\nname = \"All\"\n"
                    "pointer = \"/all\"\n",
                    head, values));
  }

  SweepResults run(bool restart_changed = false, const StopToken& stop = {}, bool share = false) {
    plan();
    return run_planned(restart_changed, stop, share);
  }
  void plan() {
    file_ = read_sweep(folder_ / "s.toml");
    cells_ = plan_cells(file_, out_, [](const SweepStep& step) {
      const bool trains = step.verb == "train";
      return VerbTraits{
          .resumes = trains, .overwrites = false, .takes_model = !trains, .shared_keys = {}};
    });
  }
  SweepResults run_planned(bool restart_changed, const StopToken& stop, bool share) const {
    const Context context{.stop = stop};
    return run_sweep(file_, cells_,
                     {.program = folder_ / "program",
                      .out = out_,
                      .jobs = 2,
                      .threads = 1,
                      .restart_changed = restart_changed,
                      .share = share},
                     context);
  }

  std::vector<std::string> calls() const {
    if (!std::filesystem::exists(folder_ / "calls")) return {};
    auto lines = split(read_text_file(folder_ / "calls"), '\n');
    lines.pop_back();
    return lines;
  }

  testing::TemporaryFolder folder_;
  std::filesystem::path out_ = folder_ / "out";
  SweepFile file_;
  std::vector<Cell> cells_;
};

TEST_F(Runner, RunsEveryCellOnceAndKeepsItsNumbers) {
  write("seeds = [0, 1]", "1, 2");
  const SweepResults results = run();
  EXPECT_EQ(results.count(CellState::kFinished), 4u);
  EXPECT_EQ(results.results[1].values[0], 20);
  EXPECT_EQ(calls().size(), 4u);
  EXPECT_THAT(read_text_file(folder_ / "out/table.csv"), HasSubstr("2,1,finished,20,"));
  EXPECT_THAT(read_text_file(folder_ / "out/table.md"), HasSubstr("| 1   | 10.0 ± 0.0 |"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/chart.svg"));
  EXPECT_EQ(run().count(CellState::kFinished), 4u);
  EXPECT_EQ(calls().size(), 4u) << "finished cells are not run again";
}

TEST_F(Runner, TakesIntervalsAndBestEpochsWhereAStepTellsThem) {
  write_program(R"(#!/bin/sh
echo '{"all": 60, "intervals": {"all": [58, 61]}, "test": {"old": 0.5, "intervals": {}}, "epochs": 4,
  "evaluated_epochs": 2, "last": {"epoch": 3}, "best_on_unlabelled": {"epoch": 1,
  "unlabelled": {"all": 62}, "test": {"old": 0.7}}}'
)");
  write("[[column]]\nname = \"Old\"\npointer = \"/test/old\"\npercent = true", "1");
  const CellResult result = run().results[0];
  ASSERT_EQ(result.state, CellState::kFinished) << result.problem;
  const BesideNumber &of_test = result.beside[0], &all = result.beside[1];
  EXPECT_EQ(all.low, 58);
  EXPECT_EQ(all.high, 61);
  EXPECT_EQ(all.best_on_unlabelled, 62);
  EXPECT_TRUE(std::isnan(all.best_on_test));
  EXPECT_TRUE(std::isnan(of_test.low));
  EXPECT_EQ(of_test.best_on_unlabelled, 70);
  EXPECT_EQ(result.epochs.evaluated, 2);
  EXPECT_EQ(result.epochs.best_on_unlabelled, 2) << "counted from 1";
  EXPECT_FALSE(result.epochs.every_one());
}

TEST_F(Runner, NewPointsAndSeedsAreAddedToWhatIsThere) {
  write("", "1");
  run();
  write("seeds = [0, 5]", "1, 2");
  EXPECT_EQ(run().count(CellState::kFinished), 4u);
  EXPECT_EQ(calls().size(), 4u);
}

TEST_F(Runner, WhatAKillLeftBesideAFinishedStepIsTidiedAway) {
  write("", "1");
  run();
  const auto output = CellRecord(cell_folder(out_, cells_[0]), cells_[0]).output(0);
  write_file_atomically(output, "{}");
  EXPECT_EQ(run().count(CellState::kFinished), 1u);
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST_F(Runner, ItSaysWhatACellHadToDoWithout) {
  write_program(R"(#!/bin/sh
echo 'warning: a class is empty' >&2
echo '{"all": 60, "skipped": 3}'
)");
  write("", "1");
  plan();
  const auto host = std::make_shared<testing::RecordedHost>();
  const Context context{.log = Logger(host)};
  run_sweep(file_, cells_, {.program = folder_ / "program", .out = out_, .jobs = 1, .threads = 1},
            context);
  EXPECT_THAT(host->take(), AllOf(HasSubstr("3 images skipped"), HasSubstr("1 warnings in"),
                                  HasSubstr("train.log")));
}

TEST_F(Runner, TheFolderMayBeSpelledOtherwise) {
  write("[options]\ncurve = \"{cell}/curve.csv\"", "1");
  run();
  EXPECT_THAT(calls().back(), HasSubstr("--curve " + (out_ / "cells/1_seed-0/curve.csv").string()));
  out_ = folder_ / "./out";
  EXPECT_EQ(run().count(CellState::kFinished), 1u);
  EXPECT_EQ(calls().size(), 1u);
}

TEST_F(Runner, SweepsThatShareAFolderRunEachCellOnceAndAllHaveTheWholeTable) {
  write("seeds = [0, 1, 2, 3, 4]", "1, 2");
  plan();
  std::vector<std::future<SweepResults>> sweeps;
  for (int i = 0; i < 3; ++i) {
    sweeps.push_back(
        std::async(std::launch::async, [this] { return run_planned(false, {}, /*share=*/true); }));
  }
  for (auto& sweep : sweeps) EXPECT_EQ(sweep.get().count(CellState::kFinished), 10u);
  EXPECT_EQ(calls().size(), 10u);
  EXPECT_THAT(read_text_file(folder_ / "out/table.csv"), Not(HasSubstr("pending")));
}

TEST_F(Runner, ACellThatAnotherLeftUnfinishedIsTakenOver) {
  write("", "1, 2");
  plan();
  create_folders(out_ / "cells");
  write_file_atomically(out_ / ".sweep-lock", "");  // it is a sweep's
  std::optional<FileLock> other =
      FileLock::try_take(cell_folder(out_, cells_[0]).string() + ".lock");
  ASSERT_TRUE(other);
  auto sweep =
      std::async(std::launch::async, [this] { return run_planned(false, {}, /*share=*/true); });
  EXPECT_EQ(sweep.wait_for(std::chrono::seconds(1)), std::future_status::timeout);
  EXPECT_EQ(calls().size(), 1u) << "the one that nobody is at";
  other.reset();  // as the end of a process does
  EXPECT_EQ(sweep.get().count(CellState::kFinished), 2u);
  EXPECT_EQ(calls().size(), 2u);
}

TEST_F(Runner, WhatFailedHereAndAnotherFinishedIsFinishedInThisTableToo) {
  write_file_atomically(folder_ / "broken", "");
  write("", "3, 1");
  plan();
  create_folders(out_ / "cells");
  write_file_atomically(out_ / ".sweep-lock", "");  // it is a sweep's
  std::optional<FileLock> second =
      FileLock::try_take(cell_folder(out_, cells_[1]).string() + ".lock");
  const StopToken stop;
  const auto begin = [&] {
    return std::async(std::launch::async, [&] { return run_planned(false, stop, true); });
  };
  auto failing = begin();
  const auto has_failed = [&] {
    return std::filesystem::exists(out_ / "table.csv") &&
           read_text_file(out_ / "table.csv").find("failed") != std::string::npos;
  };
  while (!has_failed()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::filesystem::remove(folder_ / "broken");
  auto other = begin();
  const CellRecord first(cell_folder(out_, cells_[0]), cells_[0]);
  while (first.next_step() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  second.reset();
  EXPECT_EQ(other.get().count(CellState::kFinished), 2u);
  EXPECT_EQ(failing.get().count(CellState::kFinished), 2u);
  EXPECT_EQ(calls().size(), 3u);
}

TEST_F(Runner, ACellThatAnotherIsAtIsNotBegunAnew) {
  write("[options]\nepochs = 5", "1, 2");
  run();
  write("[options]\nepochs = 6", "1, 2");
  plan();
  const auto other = FileLock::try_take(cell_folder(out_, cells_[0]).string() + ".lock");
  ASSERT_TRUE(other);
  EXPECT_THAT(message_of<UsageError>([&] { run_planned(true, {}, /*share=*/true); }),
              AllOf(HasSubstr("another sweep is at this cell"), HasSubstr("--epochs 6")));
  EXPECT_EQ(calls().size(), 2u);
  EXPECT_EQ(read_text_file(out_ / "table.csv").find("pending"), std::string::npos);
}

TEST_F(Runner, ASweepThatDoesNotShareKeepsOthersOut) {
  write("", "9");
  plan();
  const StopToken stop;
  auto alone = std::async(std::launch::async, [&] {
    EXPECT_THROW(run_planned(false, stop, /*share=*/false), InterruptedError);
  });
  while (calls().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_THAT(message_of<FileError>([&] { run_planned(false, {}, /*share=*/true); }),
              HasSubstr("another sweep is working in it"));
  stop.request_stop();
  alone.get();
}

TEST_F(Runner, ACellThatIsKilledIsSaidToBe) {
  write("", "7, 1");
  const SweepResults results = run();
  EXPECT_EQ(results.results[0].exit_code, static_cast<int>(ErrorKind::kDevice));
  EXPECT_THAT(results.results[0].problem, StartsWith("ended by signal 9 (Killed) (see "));
  EXPECT_EQ(results.count(CellState::kFinished), 1u);
}

TEST_F(Runner, AFailedCellDoesNotStopTheOthersAndIsTriedAgain) {
  write_file_atomically(folder_ / "broken", "");
  write("", "3, 1, 2");
  const SweepResults results = run();
  EXPECT_EQ(results.count(CellState::kFinished), 2u);
  EXPECT_EQ(results.results[0].state, CellState::kFailed);
  EXPECT_EQ(results.results[0].exit_code, 4);
  EXPECT_THAT(results.results[0].problem, AllOf(HasSubstr("no such data"), HasSubstr("train.log")));
  EXPECT_EQ(results.results[0].hint, "the same command tries them again");
  EXPECT_THAT(read_text_file(folder_ / "out/table.md"), HasSubstr("| 3   | failed |"));
  std::filesystem::remove(folder_ / "broken");
  EXPECT_EQ(run().count(CellState::kFinished), 3u);
  ASSERT_EQ(calls().size(), 4u);
  EXPECT_THAT(calls().back(), HasSubstr("--k 3 --seed 0 --out"));
  EXPECT_THAT(calls().back(), HasSubstr("--resume"));
}

TEST_F(Runner, LaterStepsWorkOnTheRunAndAddedOnesRunAlone) {
  write("", "1, 2");
  run();
  write(
      "[[then]]\nverb = \"evaluate\"\n[[column]]\nname = \"NMI\"\npointer = \"/nmi\"\n"
      "step = \"evaluate\"\npercent = true",
      "1, 2");
  const SweepResults results = run();
  EXPECT_THAT(results.results[1].values, ::testing::ElementsAre(50, 20));
  ASSERT_EQ(calls().size(), 4u);
  EXPECT_THAT(calls().back(), AllOf(HasSubstr("evaluate"), HasSubstr("/run --threads 1 --json")));
}

TEST_F(Runner, ACellThatWasBegunWithOtherOptionsIsAnErrorThatNamesIt) {
  write("[options]\nepochs = 5", "1, 2");
  run();
  write("[options]\nepochs = 6", "1, 2");
  EXPECT_THAT(message_of<UsageError>([&] { run(); }),
              AllOf(HasSubstr("cells/1_seed-0"), HasSubstr("now '--epochs 6'"),
                    HasSubstr("begun with '--epochs 5'")));
  EXPECT_EQ(calls().size(), 2u);
  EXPECT_EQ(run(true).count(CellState::kFinished), 2u);
  EXPECT_EQ(calls().size(), 4u);
}

TEST_F(Runner, AChangedLaterStepRunsAgainWithTheRunThatIsThere) {
  const auto write_with_dtypes = [&](const std::string& first, const std::string& second) {
    write("[[then]]\nverb = \"evaluate\"\noptions = { dtype = \"" + first +
              "\" }\n[[then]]\nname = \"again\"\nverb = \"evaluate\"\noptions = { dtype = \"" +
              second + "\" }",
          "1");
  };
  write_with_dtypes("a", "a");
  run();
  ASSERT_EQ(calls().size(), 3u);
  write_file_atomically(folder_ / "out/cells/1_seed-0/run/model", "trained");
  write_with_dtypes("a", "b");
  EXPECT_EQ(run(true).count(CellState::kFinished), 1u);
  ASSERT_EQ(calls().size(), 4u) << "only the last step changed";
  EXPECT_THAT(calls().back(), HasSubstr("evaluate --dtype b"));
  write_with_dtypes("c", "b");
  EXPECT_EQ(run(true).count(CellState::kFinished), 1u);
  ASSERT_EQ(calls().size(), 6u) << "the steps after the changed one follow";
  EXPECT_THAT(calls()[4], HasSubstr("evaluate --dtype c"));
  EXPECT_EQ(read_text_file(folder_ / "out/cells/1_seed-0/run/model"), "trained");
}

TEST_F(Runner, AChangedFirstStepBeginsTheCellAnew) {
  write("[[then]]\nverb = \"evaluate\"", "1");
  run();
  write_file_atomically(folder_ / "out/cells/1_seed-0/run/model", "trained");
  write("[options]\nepochs = 6\n[[then]]\nverb = \"evaluate\"", "1");
  EXPECT_EQ(run(true).count(CellState::kFinished), 1u);
  EXPECT_EQ(calls().size(), 4u);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/cells/1_seed-0/run/model"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/cells/1_seed-0.old"));
}

TEST_F(Runner, ARefusedSweepLeavesTheCopyOfItsFile) {
  write("[options]\nepochs = 5", "1");
  run();
  const std::string copy = read_text_file(folder_ / "out/sweep.toml");
  write("[options]\nepochs = 6", "1");
  EXPECT_THROW(run(), UsageError);
  EXPECT_EQ(read_text_file(folder_ / "out/sweep.toml"), copy);
  run(true);
  EXPECT_THAT(read_text_file(folder_ / "out/sweep.toml"), HasSubstr("epochs = 6"));
}

TEST_F(Runner, ANumberThatWasNotPrintedFailsTheCellByName) {
  write("[[column]]\nname = \"Old\"\npointer = \"/old\"", "1");
  EXPECT_THAT(run().results[0].problem, AllOf(HasSubstr("column 'Old'"),
                                              HasSubstr("step 'train' printed no number at /old")));
  EXPECT_THAT(run().results[0].hint, HasSubstr("correct the pointer of column 'Old'"));
  write("[[column]]\nname = \"Old\"\npointer = \"/all/~7\"", "1");
  EXPECT_THAT(run().results[0].problem, HasSubstr("no number at /all/~7"));
}

TEST_F(Runner, AFolderOfSomethingElseIsRefused) {
  write("", "1");
  std::filesystem::create_directory(folder_ / "out");
  write_file_atomically(folder_ / "out/thesis.txt", "");
  EXPECT_THAT(message_of<UsageError>([&] { run(); }), HasSubstr("something else than a sweep"));
  EXPECT_TRUE(calls().empty());
}

TEST_F(Runner, TheFolderOfARunIsNoSweep) {
  write("", "1");
  std::filesystem::create_directory(folder_ / "out");
  for (const char* name : {"out/.lock", "out/config.toml"})
    write_file_atomically(folder_ / name, "");
  EXPECT_THAT(message_of<UsageError>([&] { run(); }), HasSubstr("something else than a sweep"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/sweep.toml"));
}

TEST_F(Runner, AnInterruptStopsTheCellsAndTheSweepGoesOnLater) {
  write("", "1, 9, 2");
  const StopToken stop;
  std::thread stopper([&] {
    // k = 1 is finished and 2 has followed it once all three were called; 9 is still asleep.
    while (!std::filesystem::exists(folder_ / "out/cells/2_seed-0/train.json"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop.request_stop();
  });
  EXPECT_THAT(message_of<InterruptedError>([&] { run(false, stop); }),
              HasSubstr("2 of 3 cells are finished"));
  stopper.join();
  write_file_atomically(folder_ / "quick", "");
  EXPECT_EQ(run().count(CellState::kFinished), 3u);
  EXPECT_EQ(calls().size(), 4u) << "only the stopped cell runs again";
  EXPECT_THAT(calls().back(), HasSubstr("--resume"));
}

TEST(ChildProcess, HoldsTheLockUntilItHasEndedToo) {
  const testing::TemporaryFolder folder;
  std::optional<FileLock> lock = FileLock::try_take(folder / "lock");
  ChildProcess child({"/bin/cat"}, folder / "out", folder / "log", &*lock);
  ChildProcess slow({"/bin/sleep", "60"}, folder / "out", folder / "log", &*lock);
  lock.reset();
  EXPECT_FALSE(FileLock::try_take(folder / "lock"));
  slow.ask_to_stop();
  while (!slow.ended() || !child.ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(FileLock::try_take(folder / "lock"));
}

TEST(ChildProcess, IsAloneThoughThisOneIsOneOfSeveral) {
  const testing::TemporaryFolder folder;
  ::setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  ChildProcess child({"/usr/bin/env"}, folder / "out", folder / "log");
  ::unsetenv("SLURM_STEP_NUM_TASKS");
  while (!child.ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_THAT(read_text_file(folder / "out"),
              AllOf(HasSubstr("PATH="), Not(HasSubstr("SLURM_STEP_NUM_TASKS"))));
}

TEST(ChildProcess, EndsWithItsObject) {
  const testing::TemporaryFolder folder;
  const auto start = std::chrono::steady_clock::now();
  {
    ChildProcess child({"/bin/sleep", "60"}, folder / "out", folder / "log");
    EXPECT_FALSE(child.ended());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_THAT(message_of<FileError>(
                  [&] { ChildProcess({"/no/such/program"}, folder / "out", folder / "log"); }),
              HasSubstr("/no/such/program: cannot run"));
}

}  // namespace
}  // namespace protogcd
