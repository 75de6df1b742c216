// What processes that share work must decide alike.
#include "protogcd/nn/communicator.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "tests/support/error_message.h"
#include "tests/support/team.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

/// Does the work as each of two processes; what each of them says as an error of this kind.
template <class Kind>
std::array<std::string, 2> messages_of(const std::function<void(const Context&)>& work) {
  std::array<std::string, 2> messages;
  testing::Team(2).run([&](testing::Team::Member& member) {
    Context context;
    context.process = {.rank = static_cast<int>(member.rank()), .size = 2};
    context.team = std::shared_ptr<Communicator>(&member, [](Communicator*) {});
    messages[static_cast<std::size_t>(member.rank())] = message_of<Kind>([&] { work(context); });
  });
  return messages;
}

TEST(Communicator, WhereOneIsToldToStopAllStopAfterTheirWork) {
  std::atomic<int> done = 0;
  const auto said = messages_of<InterruptedError>([&](const Context& context) {
    stop_together(context, [&] {
      if (context.process.rank == 0) throw InterruptedError("stopped by a person");
      ++done;
    });
  });
  EXPECT_THAT(said[0], HasSubstr("stopped by a person"));
  EXPECT_THAT(said[1], HasSubstr("another process"));
  EXPECT_EQ(done, 1);
}

TEST(Communicator, WorkThatDiffersIsRefusedByAllAndNamedByTheOneThatDiffers) {
  const auto said = messages_of<UsageError>([](const Context& context) {
    check_same_work(context, {{"lr", "0.1"}, {"seed", std::to_string(7 + context.process.rank)}});
  });
  EXPECT_THAT(said[1], AllOf(HasSubstr("process 2 of 2"), HasSubstr("seed 8, not seed 7")));
  EXPECT_THAT(said[0], HasSubstr("another process"));
}

TEST(Communicator, AnOptionThatOneAloneHasIsADifference) {
  const auto said = messages_of<UsageError>([](const Context& context) {
    std::map<std::string, std::string> words = {{"lr", "0.1"}};
    if (context.process.rank == 0) words["zeal"] = "2";
    check_same_work(context, words);
  });
  EXPECT_THAT(said[1], HasSubstr("nothing, not zeal 2"));
}

TEST(Communicator, TheLargestNumberIsEverybodys) {
  testing::Team(3).run([](testing::Team::Member& member) {
    Context context;
    context.team = std::shared_ptr<Communicator>(&member, [](Communicator*) {});
    EXPECT_EQ(largest_of_processes(context, 10 * member.rank()), 20);
    check_same_work(context, {{"lr", "0.1"}});  // says nothing
  });
  EXPECT_EQ(largest_of_processes(Context{}, 4), 4);
}

}  // namespace
}  // namespace protogcd
