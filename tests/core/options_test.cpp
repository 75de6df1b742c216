#include "protogcd/core/options.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OptionTableTest : public ::testing::Test {
 protected:
  OptionTableTest() {
    table.add("lambda_sup", &lambda_sup, "weight of the labelled terms").at_least(0).at_most(1);
    table.add("epochs", &epochs, "epochs").at_least(1);
    table.add("views", &views, "views").one_of({"fresh", "bank"});
    table.add("overwrite", &overwrite, "replace");
    table.add("outliers", &outliers, "outlier sets");
    table.add("k", &k, "number of classes").at_least(1);
    table.add("json", &json, "json").flag_only();
  }

  std::string config_error(std::string_view text) {
    try {
      table.apply_toml(text, "run.toml");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  double lambda_sup = 0.35;
  std::int64_t epochs = 200;
  std::string views = "fresh";
  bool overwrite = false, json = false;
  std::vector<std::string> outliers;
  std::optional<std::int64_t> k;
  OptionTable table;
};

TEST_F(OptionTableTest, TakesValuesOfEveryTypeFromToml) {
  table.apply_toml(
      "lambda_sup = 1\nepochs = 3\nviews = 'bank'\noverwrite = true\noutliers = ['a', 'b']\nk = "
      "7\n",
      "f");
  EXPECT_EQ(lambda_sup, 1);
  EXPECT_EQ(epochs, 3);
  EXPECT_EQ(views, "bank");
  EXPECT_TRUE(overwrite);
  EXPECT_THAT(outliers, ElementsAre("a", "b"));
  EXPECT_EQ(k, 7);
}

TEST_F(OptionTableTest, ValuesAreWrittenAsACommandLineHasThem) {
  table.apply_toml("k = 7\nviews = 'bank'\noverwrite = true\noutliers = ['a b', \"it's\"]\n", "f");
  EXPECT_EQ(table.find("k")->as_flag(), "--k 7");
  EXPECT_EQ(table.find("lambda_sup")->as_flag(), "--lambda-sup 0.35");
  EXPECT_EQ(table.find("views")->as_flag(), "--views bank");
  EXPECT_EQ(table.find("overwrite")->as_flag(), "--overwrite");
  EXPECT_EQ(table.find("outliers")->as_flag(), "--outliers 'a b' 'it'\\''s'");
  overwrite = false;
  EXPECT_EQ(table.find("overwrite")->as_flag(), "--overwrite=false");
}

TEST_F(OptionTableTest, FlagsWinOverTheFile) {
  const std::vector<std::string> five = {"5"};
  EXPECT_EQ(table.find("epochs")->assign(five, OptionSource::kFlag), std::nullopt);
  table.apply_toml("epochs = 9\n", "run.toml");
  EXPECT_EQ(epochs, 5);
}

TEST_F(OptionTableTest, UnknownKeyIsRefusedWithTheNearestOne) {
  EXPECT_EQ(config_error("\nlamda_sup = 1\n"),
            "run.toml:2: unknown key 'lamda_sup'; did you mean 'lambda_sup'?");
  EXPECT_EQ(config_error("json = true\n"), "run.toml:1: unknown key 'json'");
  EXPECT_THAT(config_error("[train]\nepochs = 3\n"), HasSubstr("unknown key 'train'"));
}

TEST_F(OptionTableTest, WrongTypesAndRangesNameFileLineKeyAndWhatIsAllowed) {
  EXPECT_EQ(config_error("epochs = 'three'\n"),
            "run.toml:1: epochs: expected an integer of at least 1");
  EXPECT_EQ(config_error("epochs = 2.5\n"),
            "run.toml:1: epochs: expected an integer of at least 1");
  EXPECT_EQ(config_error("lambda_sup = 1.5\n"),
            "run.toml:1: lambda_sup: '1.5' is not allowed: expected a number of at least 0 and at "
            "most 1");
  EXPECT_EQ(config_error("views = 'bnak'\n"),
            "run.toml:1: views: 'bnak' is not allowed: expected one of fresh, bank; did you mean "
            "'bank'?");
  EXPECT_THAT(config_error("overwrite = 1\n"), HasSubstr("expected true or false"));
  EXPECT_THAT(config_error("outliers = [1]\n"), HasSubstr("outliers"));
  EXPECT_THAT(config_error("lambda_sup = nan\n"), HasSubstr("not allowed"));
  EXPECT_EQ(lambda_sup, 0.35);
  EXPECT_EQ(epochs, 200);
}

TEST_F(OptionTableTest, TomlSyntaxErrorsNameTheLine) {
  EXPECT_THAT(config_error("epochs = 3\nviews = \n"), HasSubstr("run.toml:2: "));
  EXPECT_THAT(config_error("epochs = 3\nepochs = 4\n"), HasSubstr("run.toml:2: "));
}

TEST_F(OptionTableTest, TomlThatIsNestedTooDeepIsRefusedHoweverDeep) {
  const auto repeated = [](std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  for (const std::string& key : {repeated("a.", 200'000), repeated("\"a=\" . ", 200'000)}) {
    EXPECT_THAT(config_error("epochs = 3\n" + key + "a = 1\n"), HasSubstr("run.toml:2: a key of"));
    EXPECT_THAT(config_error("[" + key + "a]\n!"), HasSubstr("run.toml:1: a key of"));
  }
  EXPECT_NE(config_error("k = " + repeated("[", 200'000)), "");
  EXPECT_NE(config_error("k = " + repeated("{a=", 200'000)), "");
  // Dots elsewhere are no keys.
  const std::string dots = repeated(".", 1000);
  EXPECT_EQ(config_error("# " + dots + "\nviews = 'bank' # " + dots + "\noutliers = [\"" + dots +
                         "\\\"\", '" + dots + "', \"\"\"\n" + dots + "\"\"\"]\n"),
            "");
}

TEST_F(OptionTableTest, TheResolvedConfigurationReadsBackTheSame) {
  table.apply_toml(
      "lambda_sup = 0.1\noutliers = [\"say \\\"hi\\\"\", \"back\\\\slash\\u0007\"]\nk = 12\n", "a");
  const std::string resolved = table.to_toml();
  outliers.clear();
  k.reset();
  table.apply_toml(resolved, "b");
  EXPECT_EQ(table.to_toml(), resolved);
  EXPECT_THAT(outliers, ElementsAre("say \"hi\"", "back\\slash\a"));
}

TEST_F(OptionTableTest, AnOptionalValueThatIsNotSetIsACommentInTheConfiguration) {
  EXPECT_THAT(table.to_toml(), HasSubstr("\n# k = \n"));
}

TEST_F(OptionTableTest, RequiredOptionsAreAskedForByName) {
  std::string data;
  table.add("dataset", &data, "which dataset").required();
  try {
    table.check_required();
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "dataset is needed: which dataset");
  }
  table.apply_toml("dataset = 'cub'\n", "run.toml");
  EXPECT_NO_THROW(table.check_required());
}

TEST_F(OptionTableTest, DeclaringAKeyTwiceIsAMistakeOfOurs) {
  EXPECT_THROW(table.add("epochs", &epochs, ""), InternalError);
}

}  // namespace
}  // namespace protogcd
