// A message names options by key, and each host spells them its way.
#include "protogcd/core/option_name.h"

#include <gtest/gtest.h>

#include "protogcd/core/error.h"
#include "protogcd/core/log.h"
#include "tests/support/recorded_host.h"

namespace protogcd {
namespace {

std::string python(std::string_view key) {
  return std::string(key) + "=";
}

TEST(OptionName, IsSpelledByTheHost) {
  const std::string text = option_name("k_max") + ": 3, or raise " + option_name("k") + " 5";
  EXPECT_EQ(spelled(text), "k_max: 3, or raise k 5");
  EXPECT_EQ(spelled(text, python), "k_max=: 3, or raise k= 5");
}

TEST(OptionName, OtherTextStaysAsItIs) {
  for (const std::string text : {"", "nothing", "a\x1E",
                                 "a\x1E"
                                 "b",
                                 "\x1F\x1E", "\x1E\x1F", "\x1E/a file\x1F", "\x1E\x1E k\x1F"}) {
    EXPECT_EQ(spelled(text, python), text);
  }
  std::string twice(1, '\x1E');
  twice += option_name("k");
  EXPECT_EQ(spelled(twice, python), "\x1Ek=");
}

TEST(Error, NamesOptionsByKeyUnlessTheHostSpellsThem) {
  const UsageError error(option_name("k_max") + ": too low", "raise " + option_name("k_max"));
  EXPECT_STREQ(error.what(), "k_max: too low");
  EXPECT_EQ(error.hint(), "raise k_max");
  EXPECT_EQ(error.spelled(python), "k_max=: too low");
  EXPECT_EQ(error.spelled_hint(python), "raise k_max=");
}

TEST(Error, InsideAnotherItKeepsItsOptions) {
  const UsageError inner(option_name("k") + " is needed");
  const DataError outer("file.csv: " + inner.marked());
  EXPECT_STREQ(outer.what(), "file.csv: k is needed");
  EXPECT_EQ(outer.spelled(python), "file.csv: k= is needed");
}

TEST(Logger, ItsSinkSpellsOptions) {
  class Python : public testing::RecordedHost {
    std::string spell(std::string_view key) const override { return python(key); }
  };
  const auto plain = std::make_shared<testing::RecordedHost>();
  const auto other = std::make_shared<Python>();
  for (const auto& sink : {plain, std::shared_ptr<testing::RecordedHost>(other)})
    Logger(sink).info("see " + option_name("bank_max"));
  EXPECT_EQ(plain->take(), "see bank_max\n");
  EXPECT_EQ(other->take(), "see bank_max=\n");
}

}  // namespace
}  // namespace protogcd
