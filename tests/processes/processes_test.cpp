// Training with several processes of the operating system, started by torchrun as people do it: one
// process and two give the same numbers, and what happens to one of them is everybody's business.
#include <gmock/gmock.h>
#include <signal.h>

#include <cmath>
#include <future>
#include <regex>
#include <set>
#include <thread>

#include "protogcd/cluster/sampled.h"
#include "protogcd/core/files.h"
#include "protogcd/methods/registry.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/python.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using ::testing::Not;
using testing::ProgramResult;
using testing::run_command;
using testing::run_protogcd;
using testing::TinyRun;

constexpr double kTolerance = 1e-9;

std::vector<std::string> trained_methods() {
  std::vector<std::string> names;
  for (const std::string& name : method_names())
    if (find_method(name)->trains()) names.push_back(name);
  return names;
}

std::vector<std::string> torchrun(int processes, const std::vector<std::string>& words,
                                  const std::vector<std::string>& options = {}) {
  std::vector<std::string> command = {
      testing::python_path(),   "-m",          "torch.distributed.run",
      "--standalone",           "--no-python", "--nproc-per-node",
      std::to_string(processes)};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(testing::protogcd_path());
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

/// The numbers of two runs: equal, but for the last digits that the order of sums changes.
void expect_near(const nlohmann::json& one, const nlohmann::json& other, const std::string& where) {
  if (one.is_object()) {
    ASSERT_EQ(one.size(), other.size()) << where;
    for (const auto& [key, value] : one.items())
      expect_near(value, other.at(key), where + " " + key);
  } else if (one.is_array()) {
    ASSERT_EQ(one.size(), other.size()) << where;
    for (std::size_t i = 0; i < one.size(); ++i) expect_near(one[i], other[i], where);
  } else if (one.is_number() && other.is_number()) {
    EXPECT_NEAR(one.get<double>(), other.get<double>(), kTolerance) << where;
  } else {
    EXPECT_EQ(one, other) << where;
  }
}

class Processes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinyRun; }
  static void TearDownTestSuite() { delete tiny_; }

  /// In float64, without what only the report needs.
  std::vector<std::string> train(const std::string& name,
                                 std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--dtype", "float64"});
    return tiny_->train(name, more);
  }
  void alone(const std::string& name, const std::vector<std::string>& more = {}) const {
    json_of(run_protogcd(train(name, more)));
  }
  void expect_same(const std::string& one, const std::string& other) const {
    const auto lines = tiny_->metrics(one), others = tiny_->metrics(other);
    ASSERT_EQ(lines.size(), others.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      expect_near(lines[i], others[i], one + " epoch " + std::to_string(i));
  }

  /// A command in the background; what it writes to stderr is read while it runs.
  class Running {
   public:
    Running(std::vector<std::string> command, std::filesystem::path log) : log_(std::move(log)) {
      std::string line = "exec";
      for (const std::string& word : command) line += " '" + word + "'";
      line += " 2> '" + log_.string() + "'";
      done_ = std::async(std::launch::async, [line] { return run_command({"sh", "-c", line}); });
    }
    std::string log() const {
      return std::filesystem::exists(log_) ? read_text_file(log_) : std::string();
    }
    bool is_running() const {
      return done_.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready;
    }
    /// Waits until `due`; fails the test where the command ends before.
    template <class Condition>
    void until(Condition due) const {
      while (!due()) ASSERT_TRUE(is_running()) << log();
    }
    /// The pid that process `rank` said; the last one, where it was begun again.
    pid_t pid(int rank) const {
      const std::string text = log();
      const std::regex said("process " + std::to_string(rank + 1) + " of [0-9]+, pid ([0-9]+)");
      pid_t pid = 0;
      for (std::sregex_iterator match(text.begin(), text.end(), said), end; match != end; ++match)
        pid = std::stoi((*match)[1]);
      return pid;
    }
    ProgramResult wait() { return done_.get(); }

   private:
    std::filesystem::path log_;
    std::future<ProgramResult> done_;
  };

  Running start(int processes, const std::vector<std::string>& words,
                const std::vector<std::string>& options = {}) const {
    static int logs = 0;
    return {torchrun(processes, words, options), tiny_->folder / ("log-" + std::to_string(++logs))};
  }
  /// Two processes that no launcher started: `environment` and each its rank say who they are.
  static std::vector<ProgramResult> by_hand(const std::vector<std::string>& words,
                                            const std::vector<std::string>& environment,
                                            const std::string& rank_name) {
    std::vector<std::future<ProgramResult>> ended;
    for (const std::string rank : {"0", "1"}) {
      std::vector<std::string> command = {"env", rank_name + "=" + rank};
      command.insert(command.end(), environment.begin(), environment.end());
      command.push_back(testing::protogcd_path());
      command.insert(command.end(), words.begin(), words.end());
      ended.push_back(std::async(std::launch::async, [command] { return run_command(command); }));
    }
    std::vector<ProgramResult> results;
    for (auto& end : ended) results.push_back(end.get());
    return results;
  }
  bool has_checkpoint(const std::string& run) const {
    return std::filesystem::exists(tiny_->folder / (run + "/checkpoints/previous.safetensors"));
  }

  static TinyRun* tiny_;
};

TinyRun* Processes::tiny_ = nullptr;

class EveryMethodInProcesses : public Processes,
                               public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryMethodInProcesses, TwoProcessesTrainToTheNumbersOfOne) {
  const std::string name = GetParam();
  const std::vector<std::string> method = {"--method", name};
  alone(name + "-one", method);
  auto running = start(2, train(name + "-two", method));
  const ProgramResult result = running.wait();
  ASSERT_EQ(result.exit_code, 0) << running.log();
  EXPECT_EQ(nlohmann::json::parse(result.output).at("k"), 16) << "the first alone answers";
  EXPECT_NE(running.pid(0), 0);
  EXPECT_NE(running.pid(1), 0);
  EXPECT_NE(running.pid(0), running.pid(1));
  EXPECT_THAT(running.log(), AllOf(HasSubstr("process 1 of 2"), HasSubstr("process 2 of 2")));
  expect_same(name + "-one", name + "-two");
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethodInProcesses, ::testing::ValuesIn(trained_methods()),
                         [](const auto& method) {
                           std::string name = method.param;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

TEST_F(Processes, ABankWithBorrowedDifferencesIsSharedAlike) {
  const std::vector<std::string> bank = {"--views",  "bank", "--bank-views",   "4",
                                         "--borrow", "1",    "--bank-refresh", "1"};
  alone("bank-one", bank);
  auto running = start(2, train("bank-two", bank));
  ASSERT_EQ(running.wait().exit_code, 0) << running.log();
  expect_same("bank-one", "bank-two");
}

TEST_F(Processes, AKilledOneBeginsAllAgainWhereTheyWere) {
  const std::vector<std::string> more = {"--epochs", "6", "--checkpoint-seconds", "0"};
  alone("killed-one", more);
  auto running = start(2, train("killed-two", more), {"--max-restarts", "1"});
  running.until([&] { return has_checkpoint("killed-two"); });
  ASSERT_GT(running.pid(1), 0);
  ASSERT_EQ(::kill(running.pid(1), SIGKILL), 0);
  ASSERT_EQ(running.wait().exit_code, 0) << running.log();
  EXPECT_THAT(running.log(), HasSubstr("resuming at epoch"));
  expect_same("killed-one", "killed-two");
}

TEST_F(Processes, OneAloneThatIsKilledGoesOnWithItsOwnRun) {
  const std::vector<std::string> more = {"--epochs", "6", "--checkpoint-seconds", "0"};
  alone("lone-one", more);
  // Alone it does not say who it is; torchrun makes one of two dollars.
  const std::string says = "echo process 1 of 1, pid $$$$ >&2; exec \"$0\" \"$@\"";
  std::vector<std::string> command = torchrun(1, train("lone", more), {"--max-restarts", "1"});
  command.insert(std::ranges::find(command, testing::protogcd_path()), {"sh", "-c", says});
  Running running(command, tiny_->folder / "log-lone");
  running.until([&] { return has_checkpoint("lone"); });
  ASSERT_GT(running.pid(0), 0);
  ASSERT_EQ(::kill(running.pid(0), SIGKILL), 0);
  ASSERT_EQ(running.wait().exit_code, 0) << running.log();
  EXPECT_THAT(running.log(), HasSubstr("resuming at epoch"));
  expect_same("lone-one", "lone");
}

TEST_F(Processes, OneAloneLeavesARunThatIsNotItsJobs) {
  alone("kept");
  const std::string before = tiny_->read("kept/run.json");
  // Torchrun's second attempt finds what the first found: a run of nobody here.
  auto running = start(1, train("kept"), {"--max-restarts", "1"});
  EXPECT_NE(running.wait().exit_code, 0);
  EXPECT_THAT(running.log(), AllOf(HasSubstr("is not empty"), Not(HasSubstr("finished already"))));
  EXPECT_EQ(tiny_->read("kept/run.json"), before);
}

TEST_F(Processes, ALauncherThatKeepsNoStoreHasItsRunIdForAName) {
  const auto begun = [&](const std::string& restarts, const std::string& run_id,
                         const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"env",
                                        "RANK=0",
                                        "WORLD_SIZE=1",
                                        "TORCHELASTIC_RESTART_COUNT=" + restarts,
                                        "TORCHELASTIC_RUN_ID=" + run_id,
                                        testing::protogcd_path()};
    const auto words = train("run-" + run_id, more);
    command.insert(command.end(), words.begin(), words.end());
    return run_command(command);
  };
  EXPECT_EQ(begun("0", "job-7").exit_code, 0);
  const ProgramResult again = begun("1", "job-7");
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.errors, HasSubstr("finished already"));
  const std::vector<std::string> several = {"--runs", "2"};
  EXPECT_EQ(begun("0", "job-8", several).exit_code, 0);
  EXPECT_THAT(begun("1", "job-8", several).errors, HasSubstr("finished already"));
  EXPECT_EQ(begun("0", "none").exit_code, 0);
  EXPECT_EQ(begun("1", "none").exit_code, 2) << "'none' is no name";
}

TEST_F(Processes, AskedToStopAllStopAfterOneStepAndAnyNumberGoesOn) {
  const std::vector<std::string> more = {"--epochs", "6", "--checkpoint-seconds", "0"};
  alone("stopped-one", more);
  auto running = start(2, train("stopped-two", more));
  running.until([&] { return has_checkpoint("stopped-two"); });
  ASSERT_GT(running.pid(1), 0);
  ASSERT_EQ(::kill(running.pid(1), SIGINT), 0);  // one of them is enough
  EXPECT_NE(running.wait().exit_code, 0);
  const std::regex stopped("stopped at epoch ([0-9]+) of 6");
  const std::string log = running.log();
  std::set<std::string> epochs;
  int count = 0;
  for (std::sregex_iterator match(log.begin(), log.end(), stopped), end; match != end; ++match) {
    epochs.insert((*match)[1]);
    ++count;
  }
  EXPECT_EQ(count, 2) << log;
  EXPECT_EQ(epochs.size(), 1u);
  auto words = train("stopped-two", more);
  words.push_back("--resume");
  json_of(run_protogcd(words));  // alone
  expect_same("stopped-one", "stopped-two");
}

TEST_F(Processes, OneThatHangsIsAnErrorOfThoseThatWait) {
  auto running = start(2, train("hung", {"--epochs", "50", "--process-timeout", "3"}));
  const auto metrics = tiny_->folder / "hung/metrics.jsonl";
  running.until([&] { return std::filesystem::exists(metrics); });
  const pid_t hung = running.pid(1);
  ASSERT_GT(hung, 0);
  ASSERT_EQ(::kill(hung, SIGSTOP), 0);
  running.until(
      [&] { return running.log().find("did not answer for 3.0 s") != std::string::npos; });
  EXPECT_THAT(running.log(), AllOf(HasSubstr("process 1 of 2"), HasSubstr("--process-timeout")));
  ::kill(hung, SIGKILL);
  EXPECT_NE(running.wait().exit_code, 0);
}

TEST_F(Processes, OtherLaunchersSayTheSameInTheirOwnWords) {
  for (const ProgramResult& result :
       by_hand(train("mpi-two"),
               {"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "MASTER_PORT=29617"},
               "OMPI_COMM_WORLD_RANK"))
    EXPECT_EQ(result.exit_code, 0) << result.errors;
  alone("mpi-one");
  expect_same("mpi-one", "mpi-two");
}

TEST_F(Processes, BegunAgainTheyLeaveARunThatIsNotTheirs) {
  alone("not-theirs");
  const auto restarted = [&](std::vector<std::string> more) {
    return by_hand(
        train("not-theirs", std::move(more)),
        {"WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2", "MASTER_PORT=29618", "TORCHELASTIC_RESTART_COUNT=1"},
        "RANK");
  };
  EXPECT_EQ(restarted({}).front().exit_code, 2) << "not resumed, as nobody asked for that";
  const auto again = restarted({"--overwrite"});
  EXPECT_EQ(again.front().exit_code, 0) << again.front().errors;
  EXPECT_THAT(again.front().errors, Not(HasSubstr("finished")));
  EXPECT_THAT(tiny_->read("not-theirs/run.json"), HasSubstr("\"job\""));
}

TEST_F(Processes, ABankInFilesOfAnotherNumberOfProcessesIsRemoved) {
  const std::vector<std::string> bank = {"--views",     "bank", "--bank-views", "2",
                                         "--bank-home", "file", "--overwrite"};
  const auto parts = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tiny_->folder / "banks/bank"))
      if (entry.is_directory()) names.insert(entry.path().filename());
    return names;
  };
  auto running = start(2, train("banks", bank));
  ASSERT_EQ(running.wait().exit_code, 0) << running.log();
  EXPECT_THAT(parts(), ::testing::ElementsAre("part-1-of-2", "part-2-of-2"));
  alone("banks", bank);
  EXPECT_THAT(parts(), ::testing::IsEmpty());
}

TEST_F(Processes, ASampleMayLieInTheRowsOfOne) {
  const std::string features = tiny_->folder / "few.npy";
  const auto embedded =
      run_protogcd({"embed", "--images", tiny_->folder / "demo/unlabelled", "--backbone", "builtin",
                    "--device", "cpu", "--out", features, "--json"});
  const auto rows = json_of(embedded).at("images").get<std::int64_t>();
  std::uint64_t seed = 0;
  while (draw_rows(rows, 3, seed).back() >= rows / 2) ++seed;
  const auto words = [&](const std::string& sample, const std::string& out) {
    return std::vector<std::string>{
        "cluster", "--embeddings",     features,   "--k",  "2",      "--device",
        "cpu",     "--json",           "--sample", sample, "--seed", std::to_string(seed),
        "--out",   tiny_->folder / out};
  };
  json_of(run_protogcd(words("3", "few-one.csv")));
  auto running = start(2, words("3", "few-two.csv"));
  EXPECT_EQ(running.wait().exit_code, 0) << running.log();
  EXPECT_EQ(tiny_->read("few-one.csv"), tiny_->read("few-two.csv"));
  auto too_few = start(3, words("2", "none.csv"));
  EXPECT_NE(too_few.wait().exit_code, 0);
  EXPECT_THAT(too_few.log(), HasSubstr("--sample: 2 rows are fewer than the 3 processes"));
}

TEST_F(Processes, EmbeddingsAreClusteredTogether) {
  const std::string features = tiny_->folder / "features.npy";
  const auto embedded =
      run_protogcd({"embed", "--images", tiny_->folder / "demo/unlabelled", "--backbone", "builtin",
                    "--device", "cpu", "--out", features});
  ASSERT_EQ(embedded.exit_code, 0) << embedded.errors;
  for (const std::string sample : {"0", "20"}) {
    const auto words = [&](const std::string& out) -> std::vector<std::string> {
      return {"cluster",    "--embeddings", features,   "--k",  "6",     "--device",
              "cpu",        "--json",       "--sample", sample, "--out", tiny_->folder / out,
              "--overwrite"};
    };
    const auto one = json_of(run_protogcd(words("one.csv")));
    auto running = start(2, words("two.csv"));
    const ProgramResult result = running.wait();
    ASSERT_EQ(result.exit_code, 0) << running.log();
    EXPECT_THAT(running.log(), HasSubstr("process 2 of 2"));
    const auto two = nlohmann::json::parse(result.output);
    EXPECT_EQ(one.at("sizes"), two.at("sizes"));
    EXPECT_NEAR(one.at("inertia").get<double>(), two.at("inertia").get<double>(), 1e-4);
    EXPECT_EQ(tiny_->read("one.csv"), tiny_->read("two.csv"));
  }
}

TEST_F(Processes, OtherWorkThanTheFirstOnesIsRefusedByAll) {
  struct Difference {
    std::string flag, value, said;
  };
  for (const Difference& difference :
       {Difference{"--lr", "0.1$RANK", "lr 0.11, not lr 0.1"},
        Difference{"--eval-every", "1$RANK", "eval_every 11, not eval_every 10"},
        Difference{"--k", "1$((6 + RANK))", "k 17, not k 16"}}) {
    auto words = train("differ");
    const auto flag = std::ranges::find(words, difference.flag);
    if (flag != words.end()) words.erase(flag, flag + 2);
    std::string line = "exec '" + testing::protogcd_path() + "'";
    for (const std::string& word : words) line += " '" + word + "'";
    std::vector<std::string> command = torchrun(2, {});
    command.back() = "sh";
    command.insert(command.end(), {"-c", line + " " + difference.flag + " " + difference.value});
    Running running(command, tiny_->folder / "log-differ");
    EXPECT_NE(running.wait().exit_code, 0);
    EXPECT_THAT(running.log(), HasSubstr("process 2 of 2 was given other work than the first: " +
                                         difference.said));
    EXPECT_FALSE(std::filesystem::exists(tiny_->folder / "differ/config.toml"));
  }
}

TEST_F(Processes, WhatTheyDoNotShareIsRefusedByName) {
  const auto errors_of = [&](const std::vector<std::string>& words) {
    auto running = start(2, words);
    EXPECT_NE(running.wait().exit_code, 0);
    return running.log();
  };
  EXPECT_THAT(errors_of(train("odd", {"--batch-size", "15"})),
              AllOf(HasSubstr("--batch-size"), HasSubstr("15 images cannot be divided")));
  auto several = tiny_->command("discover", "begun");
  several.insert(several.end(), {"--look-at-data=false", "--calibrate-confidence=false"});
  EXPECT_THAT(errors_of(several), HasSubstr("--beginnings"));
  EXPECT_THAT(errors_of(tiny_->command("discover", "found")),
              AllOf(HasSubstr("several processes only train"), HasSubstr("--look-at-data"),
                    Not(HasSubstr("--set-foreign-aside"))));
  EXPECT_THAT(errors_of({"cluster", "--images", tiny_->folder / "demo/unlabelled", "--backbone",
                         "builtin", "--k", "4"}),
              HasSubstr("several processes cluster embeddings"));
}

}  // namespace
}  // namespace protogcd
