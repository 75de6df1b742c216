#include "protogcd/core/text.h"

#include <gmock/gmock.h>

namespace protogcd {
namespace {

using ::testing::ElementsAre;

TEST(Text, ParsesOnlyWholeNumbersThatFit) {
  EXPECT_EQ(parse_integer("-42"), -42);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", " 1", "1 ", "1.0", "0x10", "+1", "9223372036854775808", "one"}) {
    EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_unsigned("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_unsigned("-1"), std::nullopt);
  EXPECT_EQ(parse_real("1e-3"), 0.001);
  for (const char* bad : {"", "nan", "inf", "1e999", "0.1x"})
    EXPECT_EQ(parse_real(bad), std::nullopt) << bad;
}

TEST(Text, EditDistanceCountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Text, NearestNameIsOfferedOnlyWhenItIsNear) {
  const std::vector<std::string> names = {"lambda_sup", "lambda_sep", "seed"};
  EXPECT_EQ(nearest_name("lamda_sup", names), "lambda_sup");
  EXPECT_EQ(nearest_name("completely_else", names), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100000, 'x'), names), std::nullopt);
  EXPECT_EQ(did_you_mean("sead", names), "; did you mean 'seed'?");
}

TEST(Text, SplitKeepsEmptyPartsAndTrimDropsBlanks) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_EQ(trim(" \t x y\r\n"), "x y");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, SizesAndDurationsReadWell) {
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_seconds(7.44), "7.4 s");
  EXPECT_EQ(human_seconds(75.2), "1 min 15 s");
  EXPECT_EQ(human_seconds(3725), "1 h 2 min");
}

TEST(Text, OneLineShowsControlCharacters) {
  EXPECT_EQ(one_line("a\nb\x1B[2Jc\x7F"), "a\\x0Ab\\x1B[2Jc\\x7F");
  EXPECT_EQ(one_line("\x1B]0;title\x07"), "\\x1B]0;title\\x07");
  EXPECT_EQ(one_line("C1 \u009B31m, \u0085"), "C1 \\u009B31m, \\u0085");
  EXPECT_EQ(one_line("jpg\u202Egnp \u2066\u2069\u200F\u061C\u2028"),
            "jpg\\u202Egnp \\u2066\\u2069\\u200F\\u061C\\u2028");
}

TEST(Text, OneLineKeepsLettersAndShowsBytesThatAreNone) {
  for (const char* text :
       {"", "\u00FCber", "\u9CE5 \u0639\u0635\u0641\u0648\u0631 \U0001F426", "\u00A0"})
    EXPECT_EQ(one_line(text), text);
  EXPECT_EQ(one_line("\xFF \x9B \xE9"), "\\xFF \\x9B \\xE9");
  EXPECT_EQ(one_line("\xC2"), "\\xC2");                    // cut short
  EXPECT_EQ(one_line("\xC0\x9B"), "\\xC0\\x9B");           // longer than it need be
  EXPECT_EQ(one_line("\xE0\x82\x9B"), "\\xE0\\x82\\x9B");  // so is this
  EXPECT_EQ(one_line("\xED\xA0\x80"), "\\xED\\xA0\\x80");  // half of a pair of UTF-16
  EXPECT_EQ(one_line("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
}

TEST(Text, AnotherLetterMakesAnotherWordOfOneOrTwo) {
  const std::vector<std::string> flags = {"--k", "--lr", "--out"};
  EXPECT_EQ(did_you_mean("-v", flags), "");
  EXPECT_EQ(did_you_mean("--v", flags), "");
  EXPECT_EQ(did_you_mean("--lx", flags), "; did you mean '--lr'?");
  EXPECT_EQ(did_you_mean("--ouy", flags), "; did you mean '--out'?");
}

}  // namespace
}  // namespace protogcd
