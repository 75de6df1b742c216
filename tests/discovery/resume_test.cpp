// A run that is stopped, by whatever, goes on to the same bits.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <random>

#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/methods/registry.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using testing::run_command;
using testing::run_protogcd;
using testing::signal_protogcd;
using testing::TinyRun;

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Kills the run again and again until it ends by itself: at any moment of its life (also before
/// its first checkpoint), or a little after a checkpoint changed.
int kill_until_done(const TinyRun& work, const std::string& run,
                    const std::vector<std::string>& command, int most) {
  std::mt19937 random(7);
  const auto latest = work.folder / run / "checkpoints/latest.safetensors";
  int kills = 0;
  for (;;) {
    std::error_code error;
    const auto seen = std::filesystem::last_write_time(latest, error);
    const bool had_one = !error;
    const int changes = std::uniform_int_distribution<int>(1, 3)(random);
    const int delay = std::uniform_int_distribution<int>(0, 15)(random);  // into the next step
    const bool anywhere = std::bernoulli_distribution(0.3)(random);
    const int moment = std::uniform_int_distribution<int>(0, 300)(random);
    int left = changes, waited = 0, asked = 0;
    auto last = seen;
    bool known = had_one;
    const auto due = [&] {
      if (kills >= most) return false;
      if (anywhere) return ++asked > moment;
      std::error_code missing;
      const auto now = std::filesystem::last_write_time(latest, missing);
      if (!missing && (!known || now != last)) {
        known = true;
        last = now;
        --left;
      }
      return left <= 0 && ++waited > delay;
    };
    const bool begun = std::filesystem::exists(work.folder / run / "config.toml");
    const auto result = signal_protogcd(
        begun ? std::vector<std::string>{"train", "--out", work.folder / run, "--resume", "--json"}
              : command,
        SIGKILL, due);
    if (result.exit_code == -SIGKILL) {
      ++kills;
      continue;
    }
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return kills;
  }
}

TEST(Resume, ARunKilledManyTimesGivesTheSameBits) {
  const TinyRun work;
  json_of(run_protogcd(work.train("straight", {"--epochs", "20"})));
  const auto command = work.train("killed", {"--epochs", "20", "--checkpoint-seconds", "0"});
  EXPECT_GE(kill_until_done(work, "killed", command, 24), 5);
  work.expect_same("killed", "straight");
}

TEST(Resume, RunsOfEveryMethodSurviveKills) {
  for (const std::string& method : trained_method_names()) {
    if (method == trained_method_names().front()) continue;  // above
    SCOPED_TRACE(method);
    const TinyRun work;
    json_of(run_protogcd(work.train("straight", {"--method", method, "--epochs", "12"})));
    const auto command =
        work.train("killed", {"--method", method, "--epochs", "12", "--checkpoint-seconds", "0"});
    EXPECT_GE(kill_until_done(work, "killed", command, 10), 3);
    work.expect_same("killed", "straight");
  }
}

TEST(Resume, HardLabelsDecidedAtTheEpochsStartSurviveAKill) {
  const TinyRun work;
  const std::vector<std::string> paper = {"--preset", "paper",    "--wide-projection",
                                          "64",       "--epochs", "10"};
  json_of(run_protogcd(work.train("straight", paper)));
  const int kills = kill_until_done(
      work, "killed", work.train("killed", with(paper, {"--checkpoint-seconds", "0"})), 10);
  EXPECT_GE(kills, 3);
  work.expect_same("killed", "straight");
}

TEST(Resume, CtrlCWritesACheckpointAndSaysHowToGoOn) {
  const TinyRun work;
  json_of(run_protogcd(work.train("straight", {"--epochs", "40"})));
  const auto stopped = signal_protogcd(work.train("stopped", {"--epochs", "40"}), SIGINT, [&] {
    std::error_code error;
    return std::filesystem::exists(work.folder / "stopped/metrics.jsonl", error) &&
           std::ranges::count(work.read("stopped/metrics.jsonl"), '\n') > 25;
  });
  ASSERT_EQ(stopped.exit_code, 130) << stopped.errors;
  EXPECT_THAT(stopped.errors, AllOf(HasSubstr("stopped at epoch"), HasSubstr("--resume")));
  EXPECT_TRUE(std::filesystem::exists(work.folder / "stopped/checkpoints/latest.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(work.folder / "stopped/predictions.csv"));
  const auto resumed =
      run_protogcd({"train", "--out", work.folder / "stopped", "--resume", "--json"});
  EXPECT_THAT(resumed.errors, HasSubstr("resuming at epoch"));
  const auto json = json_of(resumed);
  work.expect_same("stopped", "straight");
  EXPECT_EQ(json.at("evaluated_epochs"), 20) << "the best epoch is of both processes";
  double training = 0;
  for (const std::string& line : split(work.read("stopped/metrics.jsonl"), '\n'))
    if (!line.empty()) training += nlohmann::json::parse(line).at("seconds").get<double>();
  EXPECT_GE(json.at("seconds").get<double>(), training) << "the whole run's, both processes";
}

/// A run stopped in its middle, with two checkpoints.
struct StoppedRun : TinyRun {
  StoppedRun() {
    json_of(run_protogcd(train("straight")));
    int seen = 0;
    std::filesystem::file_time_type last;
    const auto result = signal_protogcd(train("run", {"--checkpoint-seconds", "0"}), SIGKILL, [&] {
      std::error_code error;
      const auto now = std::filesystem::last_write_time(latest(), error);
      if (!error && (seen == 0 || now != last)) {
        ++seen;
        last = now;
      }
      return seen >= 3;
    });
    EXPECT_EQ(result.exit_code, -SIGKILL);
  }

  std::filesystem::path latest() const { return folder / "run/checkpoints/latest.safetensors"; }
  std::filesystem::path previous() const { return folder / "run/checkpoints/previous.safetensors"; }
  testing::ProgramResult resume(const std::vector<std::string>& more = {}) const {
    return run_protogcd(with({"train", "--out", folder / "run", "--resume", "--json"}, more));
  }
};

void damage(const std::filesystem::path& file) {
  std::string bytes = read_text_file(file);
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
  write_file_atomically(file, bytes);
}

TEST(Resume, ADamagedCheckpointIsNamedAndThePreviousOneUsed) {
  const StoppedRun work;
  damage(work.latest());
  const auto result = work.resume();
  EXPECT_THAT(result.errors, AllOf(HasSubstr("latest.safetensors"), HasSubstr("damaged")));
  json_of(result);
  work.expect_same("run", "straight");
}

TEST(Resume, WhereAllCheckpointsAreDamagedItSaysSoAndTouchesNothing) {
  const StoppedRun work;
  damage(work.latest());
  write_file_atomically(work.previous(),
                        work.read("run/checkpoints/previous.safetensors").substr(0, 1000));
  const auto result = work.resume();
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("previous.safetensors"), HasSubstr("no usable checkpoint")));
}

TEST(Resume, AnotherConfigurationIsRefusedByName) {
  const StoppedRun work;
  const auto rate = work.resume({"--lr", "0.2"});
  EXPECT_EQ(rate.exit_code, 2);
  EXPECT_THAT(rate.errors, HasSubstr("--lr was 0.1 when the run was begun, now it is 0.2"));
  EXPECT_THAT(work.resume({"--seed", "5"}).errors,
              HasSubstr("--seed was 0 when the run was begun, now it is 5"));
  const auto nothing = run_protogcd({"train", "--out", work.folder / "nothing", "--resume"});
  EXPECT_EQ(nothing.exit_code, 2);
}

TEST(Resume, WhatWasFoundBeforeTheFirstCheckpointDoesNotGoOnWithOtherSettings) {
  const TinyRun work;
  const auto command = work.command("discover", "run", {"--beginnings", "2", "--epochs", "6"});
  const auto killed = signal_protogcd(
      command, SIGKILL, [&] { return std::filesystem::exists(work.folder / "run/starts.json"); });
  ASSERT_EQ(killed.exit_code, -SIGKILL);
  std::filesystem::remove_all(work.folder / "run/checkpoints");  // if it came so far
  const auto resume = [&](const std::vector<std::string>& more) {
    return run_protogcd(
        with({"discover", "--out", work.folder / "run", "--resume", "--json"}, more));
  };
  for (const auto& [flag, value] :
       {std::pair("--lr", "0.02"), {"--lambda-entropy", "4"}, {"--seed", "5"}}) {
    const auto refused = resume({flag, value});
    EXPECT_EQ(refused.exit_code, 2) << flag;
    EXPECT_THAT(refused.errors, AllOf(HasSubstr(flag), HasSubstr("when the run was begun")));
  }
  json_of(resume({}));
  json_of(
      run_protogcd(work.command("discover", "straight", {"--beginnings", "2", "--epochs", "6"})));
  work.expect_same("run", "straight");
}

TEST(Resume, AFullDiskIsAnErrorThatLeavesTheLastCheckpointUsable) {
  const StoppedRun work;
  // No file may grow beyond 16 KiB: a checkpoint does not fit.
  const auto full = run_command(
      {"sh", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" train --out \"$1\" --resume",
       testing::protogcd_path(), work.folder / "run"});
  EXPECT_EQ(full.exit_code, 7) << full.errors;
  EXPECT_THAT(full.errors, HasSubstr("checkpoints"));
  json_of(work.resume());
  work.expect_same("run", "straight");
}

TEST(Resume, AFinishedRunWithoutItsPageGetsIt) {
  const TinyRun work;
  json_of(run_protogcd(work.train("run")));
  if (run_protogcd({"report", work.folder / "run"}).errors.find("npm") != std::string::npos)
    GTEST_SKIP() << "built without the page";
  const auto page = work.folder / "run/report.html";
  std::filesystem::remove(page);
  const std::vector<std::string> resume = {"train", "--out", work.folder / "run", "--resume"};
  run_protogcd(resume);
  EXPECT_FALSE(std::filesystem::exists(page)) << "it was not asked for";
  const auto again = run_protogcd(with(resume, {"--report", "--json"}));
  EXPECT_THAT(again.errors, HasSubstr("finished already"));
  EXPECT_TRUE(std::filesystem::exists(page));
  EXPECT_NO_THROW(json_of(again));
}

TEST(Resume, ARunKilledBeforeItsListOfImagesWritesIt) {
  const TinyRun work;
  const auto run = work.folder / "run";
  json_of(run_protogcd(work.train("run")));
  const std::string images = work.read("run/images.csv");
  for (const auto& entry : std::filesystem::directory_iterator(run))
    if (entry.path().filename() != "config.toml") std::filesystem::remove_all(entry.path());
  write_file_atomically(std::filesystem::path(run) / ".images.csv.partial", "half a li");
  json_of(run_protogcd({"train", "--out", run, "--resume", "--json"}));
  EXPECT_EQ(work.read("run/images.csv"), images);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(run) / ".images.csv.partial"));
}

TEST(Resume, ARunKilledBeforeItsConfigurationHadItsNameIsBegunAgain) {
  const TinyRun work;
  for (const char* how : {"", "--overwrite"}) {
    const std::filesystem::path run = work.folder / "run";
    remove_folder(run);
    create_folders(run);
    write_file_atomically(run / ".lock", "");
    write_file_atomically(run / ".config.toml.partial", "epochs = 3");
    auto words = work.train("run");
    if (*how != 0) words.emplace_back(how);
    json_of(run_protogcd(words));
    EXPECT_FALSE(std::filesystem::exists(run / ".config.toml.partial"));
  }
}

TEST(Resume, TwoProcessesDoNotShareARun) {
  const StoppedRun work;
  const auto lock = work.folder / "run/.lock";
  const auto busy = run_command(
      {"flock", lock, testing::protogcd_path(), "train", "--out", work.folder / "run", "--resume"});
  EXPECT_EQ(busy.exit_code, 7);
  EXPECT_THAT(busy.errors, HasSubstr("another process"));
}

}  // namespace
}  // namespace protogcd
