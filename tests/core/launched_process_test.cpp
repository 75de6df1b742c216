// Which of several processes this is, as launchers say it.
#include "protogcd/core/launched_process.h"

#include <gmock/gmock.h>

#include <map>

#include "protogcd/core/error.h"
#include "tests/support/error_message.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

using Variables = std::map<std::string, std::string>;

std::optional<LaunchedProcess> launched(const Variables& variables) {
  return launched_process([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(LaunchedProcess, WithoutALauncherOrAsTheOnlyOneItIsAlone) {
  EXPECT_FALSE(launched({}));
  EXPECT_FALSE(launched({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_FALSE(launched({{"RANK", "3"}}));
  // A batch script of Slurm: none of srun's steps.
  EXPECT_FALSE(launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));
}

TEST(LaunchedProcess, TorchrunMpirunAndSrunSayWhichItIs) {
  const Variables meeting = {{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "1234"}};
  for (Variables variables :
       {Variables{
            {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}},
        Variables{{"OMPI_COMM_WORLD_RANK", "5"},
                  {"OMPI_COMM_WORLD_SIZE", "8"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}},
        Variables{{"SLURM_PROCID", "5"},
                  {"SLURM_STEP_NUM_TASKS", "8"},
                  {"SLURM_LOCALID", "1"},
                  {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}}}) {
    variables.insert(meeting.begin(), meeting.end());
    const auto process = launched(variables);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->rank, 5);
    EXPECT_EQ(process->size, 8);
    EXPECT_EQ(process->local_rank, 1);
    EXPECT_EQ(process->local_size, 4);
    EXPECT_EQ(process->address, "node1");
    EXPECT_EQ(process->port, 1234);
    EXPECT_FALSE(process->is_met);
    EXPECT_EQ(process->restarts, 0);
  }
}

TEST(LaunchedProcess, TorchrunGoesBeforeTheOthersAndCountsRestarts) {
  const auto process = launched({{"RANK", "1"},
                                 {"WORLD_SIZE", "2"},
                                 {"LOCAL_WORLD_SIZE", "2"},
                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                 {"TORCHELASTIC_RESTART_COUNT", "3"},
                                 {"SLURM_PROCID", "0"},
                                 {"SLURM_STEP_NUM_TASKS", "4"}});
  ASSERT_TRUE(process);
  EXPECT_EQ(process->size, 2);
  EXPECT_TRUE(process->is_met);
  EXPECT_EQ(process->restarts, 3);
}

TEST(LaunchedProcess, TheOnlyOneOfTorchrunIsKnownToBeBegunAgain) {
  Variables variables = {{"RANK", "0"},
                         {"WORLD_SIZE", "1"},
                         {"TORCHELASTIC_RESTART_COUNT", "2"},
                         {"TORCHELASTIC_RUN_ID", "job-7"}};
  const auto process = launched(variables);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->size, 1);
  EXPECT_EQ(process->restarts, 2);
  EXPECT_EQ(process->run_id, "job-7");
  variables["TORCHELASTIC_RUN_ID"] = "none";  // what torchrun calls all that nobody has named
  EXPECT_EQ(launched(variables)->run_id, "");
}

TEST(LaunchedProcess, OfMachinesWithUnequallyManyProcessesSlurmSaysThisOnes) {
  Variables variables = {{"SLURM_PROCID", "9"},
                         {"SLURM_STEP_NUM_TASKS", "10"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_STEP_TASKS_PER_NODE", "4(x2),2"},
                         {"MASTER_ADDR", "node1"}};
  variables["SLURM_NODEID"] = "2";
  EXPECT_EQ(launched(variables)->local_size, 2);
  variables["SLURM_NODEID"] = "1";
  EXPECT_EQ(launched(variables)->local_size, 4);
  variables["SLURM_NODEID"] = "3";
  EXPECT_THAT(message_of<ConfigError>([&] { launched(variables); }),
              HasSubstr("SLURM_STEP_TASKS_PER_NODE"));
}

TEST(LaunchedProcess, ItsOwnChildrenAreAlone) {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "MASTER_PORT",
                           "TORCHELASTIC_RESTART_COUNT", "RANKING"})
    ::setenv(name, "1", 1);
  const std::vector<std::string> kept = environment_without_launcher();
  for (const std::string& variable : kept) {
    EXPECT_TRUE(!variable.starts_with("RANK=") && !variable.starts_with("OMPI_COMM_WORLD_SIZE=") &&
                !variable.starts_with("SLURM_PROCID=") && !variable.starts_with("MASTER_PORT=") &&
                !variable.starts_with("TORCHELASTIC_"))
        << variable;
  }
  EXPECT_NE(std::ranges::find(kept, "RANKING=1"), kept.end());
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "MASTER_PORT",
                           "TORCHELASTIC_RESTART_COUNT", "RANKING"})
    ::unsetenv(name);
}

TEST(LaunchedProcess, AVariableThatIsWrongIsNamed) {
  const auto message = [](const Variables& variables) {
    return message_of<ConfigError>([&] { launched(variables); });
  };
  EXPECT_THAT(message({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              AllOf(HasSubstr("RANK"), HasSubstr("'2'")));
  EXPECT_THAT(message({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK"));
  EXPECT_THAT(message({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), HasSubstr("WORLD_SIZE"));
  EXPECT_THAT(message({{"RANK", "0"},
                       {"WORLD_SIZE", "2"},
                       {"LOCAL_WORLD_SIZE", "2"},
                       {"MASTER_PORT", "99999"}}),
              HasSubstr("MASTER_PORT"));
  EXPECT_THAT(message({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
              HasSubstr("MASTER_ADDR"));
}

}  // namespace
}  // namespace protogcd
