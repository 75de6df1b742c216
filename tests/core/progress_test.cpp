#include "protogcd/core/progress.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

namespace protogcd {
namespace {

TEST(Progress, SaysShareRateAndTimeLeft) {
  const Progress progress("decode", 10000, "images", nullptr);
  EXPECT_EQ(progress.describe(4000, 5),
            "decode 40% (4,000/10,000 images), 800 images/s, 7.5 s left");
  EXPECT_EQ(progress.describe(10000, 12.5),
            "decode 100% (10,000/10,000 images), 800 images/s, took 13 s");
  EXPECT_EQ(progress.describe(0, 0), "decode 0% (0/10,000 images)");
}

/// Notes what it is shown.
class Notes : public ProgressSink {
 public:
  explicit Notes(Pace pace) : pace_(pace) {}
  Pace pace() const override { return pace_; }
  void show(const ProgressState& state) override {
    done.push_back(state.done);
    ends += state.last ? 1 : 0;
    total = state.total;
    words = state.task + "/" + state.unit;
  }
  void say(const std::string& line) override { words = line; }

  std::vector<std::uint64_t> done;
  std::uint64_t total = 0;
  int ends = 0;
  std::string words;

 private:
  Pace pace_;
};

TEST(Progress, IsShownAsOftenAsTheHostWants) {
  for (const bool often : {true, false}) {
    const auto notes = std::make_shared<Notes>(
        often ? ProgressSink::Pace{.first_seconds = 0, .interval_seconds = 0}
              : ProgressSink::Pace{.first_seconds = 1000, .interval_seconds = 1000});
    {
      Progress progress("decode", 50, "images", notes);
      for (int i = 0; i < 50; ++i) progress.add();
      EXPECT_EQ(notes->done.size(), often ? 50u : 0u);
      EXPECT_EQ(notes->ends, 0);
      progress.say("news");
      EXPECT_EQ(notes->words, "news");
    }
    EXPECT_EQ(notes->done.back(), 50u);
    EXPECT_EQ(notes->total, 50u);
    EXPECT_EQ(notes->ends, 1);
    EXPECT_EQ(notes->words, "decode/images");
  }
}

TEST(Progress, EndsOnce) {
  const auto notes = std::make_shared<Notes>(ProgressSink::Pace{});
  {
    Progress progress("decode", 0, "images", notes);
    progress.finish();
    progress.finish();
  }
  EXPECT_EQ(notes->ends, 1);
}

}  // namespace
}  // namespace protogcd
