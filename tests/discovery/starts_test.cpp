// The choice among starts, and what classes keep from one training to another.
#include "protogcd/discovery/starts.h"

#include <gmock/gmock.h>

#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/scratch_folder.h"

namespace protogcd {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Starts, TheSurestHasTheLeastDoubt) {
  EXPECT_EQ((Starts{.classes = {{}, {}, {}}, .doubt = {0.4, 0.1, 0.3}}).surest(), 1u);
}

TEST(Starts, ClassesThatOtherTrainingsFindAgainAreStable) {
  // Class 0 is the same in both, under other names; class 1 is split in one of them.
  const Starts starts{.classes = {{2, 2, 0, 0, 0, 0}, {1, 1, 0, 0, 2, 2}}, .doubt = {0.1, 0.2}};
  const auto stability = class_stability(starts, {0, 0, 1, 1, 1, 1}, 3);
  EXPECT_THAT(std::vector(stability.begin(), stability.begin() + 2),
              ElementsAre(DoubleNear(1, 1e-12), DoubleNear(0.75, 1e-12)));
  EXPECT_TRUE(std::isnan(stability[2]));  // no image, nothing to say
}

TEST(Starts, WithoutThemThereIsNoStability) {
  EXPECT_TRUE(class_stability({}, {0, 1}, 2).empty());
}

TEST(Starts, AreReadAsTheyWereWritten) {
  const ScratchFolder folder;
  const Starts starts{.classes = {{2, 0}, {1, 1}}, .doubt = {0.5, 0.25}};
  write_starts(folder / "starts.json", starts);
  const Starts back = read_starts(folder / "starts.json", 2);
  EXPECT_EQ(back.classes, starts.classes);
  EXPECT_EQ(back.doubt, starts.doubt);
}

TEST(Starts, ABadFileIsNamed) {
  const ScratchFolder folder;
  const auto error_of = [&](const std::string& text) -> std::string {
    write_file_atomically(folder / "starts.json", text);
    try {
      read_starts(folder / "starts.json", 2);
    } catch (const DataError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(error_of("{}"), HasSubstr("starts.json"));
  EXPECT_THAT(error_of("{\"doubt\": [1], \"classes\": [[0, 1, 2]]}"), HasSubstr("other images"));
  EXPECT_THAT(error_of("{\"doubt\": [1], \"classes\": []}"), HasSubstr("other images"));
}

}  // namespace
}  // namespace protogcd
