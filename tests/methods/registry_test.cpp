// The methods as people name them, and what their options decide.
#include "protogcd/methods/registry.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/methods/protogcd/protogcd.h"
#include "tests/support/error_message.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Registry, TheProjectsOwnMethodIsTheDefault) {
  EXPECT_EQ(method_names().front(), "protogcd");
  EXPECT_EQ(MethodChoice()->name(), "protogcd");
}

TEST(Registry, NamesAreTheKnownOnesAndEachIsThereOnce) {
  const std::set<std::string> planned = {"protogcd", "protogcd-plus", "gcd",       "simgcd",
                                         "mugcd",    "xcon",          "dccl",      "gpc",
                                         "orca",     "uno",           "rankstats", "kmeans"};
  std::set<std::string> seen;
  for (const RegisteredMethod& method : registered_methods()) {
    EXPECT_TRUE(planned.contains(method.name)) << method.name;
    EXPECT_TRUE(seen.insert(method.name).second) << method.name;
    EXPECT_FALSE(method.summary.empty());
  }
  EXPECT_EQ(seen, planned);
}

TEST(Registry, AnUnknownNameListsTheKnownOnes) {
  try {
    find_method("protogdc");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("protogdc"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'protogcd'"));
    EXPECT_THAT(error.hint(), HasSubstr("protogcd"));
  }
}

TEST(Registry, EveryMethodThatTrainsNamesAWeightThatCanBeTriedInMultiples) {
  for (const RegisteredMethod& method : registered_methods()) {
    const auto options = method.options();
    if (!options->trains()) continue;
    options->resolve({.epochs = 100});
    OptionTable table;
    options->declare(table);
    const Option* weight = table.find(options->tuned_option());
    ASSERT_NE(weight, nullptr) << method.name;
    const double value = parse_real(weight->to_toml()).value();
    EXPECT_GT(value, 0) << method.name;
    for (const double times : {0.5, 2.0}) {
      const std::vector<std::string> text = {fmt::format("{}", times * value)};
      EXPECT_EQ(table.find(options->tuned_option())->assign(text, OptionSource::kFlag),
                std::nullopt)
          << method.name;
    }
  }
}

TEST(Registry, OptionsNameTheirOwners) {
  EXPECT_THAT(methods_with_option("lambda_sep"), ElementsAre("protogcd", "protogcd-plus"));
  EXPECT_TRUE(methods_with_option("no_such_option").empty());
}

TEST(Registry, TeachersSeeWeakViewsOfTheImagesWhoseStrongOnesAreLearned) {
  const std::map<std::string, std::int64_t> views = {{"mugcd", 1}, {"protogcd-plus", 2}};
  for (const RegisteredMethod& registered : registered_methods()) {
    const auto options = registered.options();
    EXPECT_EQ(options->sees_strong(), views.contains(registered.name)) << registered.name;
    if (!options->sees_strong()) continue;
    const auto method = options->make(
        {.width = 4, .classes = std::vector<std::string>(3), .old_classes = 2, .epochs = 200});
    EXPECT_TRUE(method->teacher()) << registered.name;
    const std::vector<BatchStream> streams = method->streams();
    ASSERT_EQ(streams.size(), 2u) << registered.name;
    const BatchStream &learned = streams[0], &taught = streams[1];
    EXPECT_EQ(learned.strength, ViewStrength::kStrong) << registered.name;
    EXPECT_FALSE(learned.for_teacher) << registered.name;
    EXPECT_EQ(taught.strength, ViewStrength::kWeak) << registered.name;
    EXPECT_TRUE(taught.for_teacher) << registered.name;
    EXPECT_EQ(taught.same_images_as, 0u) << registered.name;
    for (const BatchStream& stream : streams)
      EXPECT_EQ(stream.views, views.at(registered.name)) << registered.name;
  }
}

TEST(MethodChoice, IsAValue) {
  MethodChoice one;
  MethodChoice other = one;
  dynamic_cast<ProtoGcdOptions&>(*other).objective.lambda_sep = 7;
  EXPECT_EQ(dynamic_cast<ProtoGcdOptions&>(*one).objective.lambda_sep, 0.1);
}

TEST(ProtoGcdOptions, TheRampIsHalfOfTheEpochsUnlessItIsGiven) {
  ProtoGcdOptions options;
  EXPECT_THAT(options.resolve({.epochs = 60}), ElementsAre(HasSubstr("ramp_epochs 30")));
  EXPECT_EQ(options.ramp_epochs, 30);
  ProtoGcdOptions given;
  given.ramp_epochs = 7;
  EXPECT_TRUE(given.resolve({.epochs = 60}).empty());
  EXPECT_EQ(given.ramp_epochs, 7);
}

TEST(ProtoGcdOptions, ThePaperPresetMovesDefaultsAndLeavesWhatWasSaid) {
  ProtoGcdOptions options;
  options.preset = ProtoGcdPreset::kPaper;
  options.tau_unsup_con = 0.5;
  options.resolve({.epochs = 200});
  EXPECT_EQ(options.objective.tau_unsup_con, 0.5);
  EXPECT_FALSE(options.objective.scale_regularisers);
  EXPECT_EQ(options.objective.confidence_floor, 0);
  EXPECT_EQ(options.hard_scope, HardScope::kSet);
  EXPECT_EQ(options.ramp_as_published, false);
  EXPECT_EQ(options.wide_projection, 65536);
}

TEST(ProtoGcdOptions, TheBuiltInBackboneHasANarrowProjection) {
  ProtoGcdOptions builtin, other;
  builtin.resolve({.epochs = 2, .has_builtin_backbone = true});
  other.resolve({.epochs = 2});
  EXPECT_EQ(builtin.head.hidden, 512);
  EXPECT_EQ(other.head.hidden, 2048);
}

}  // namespace
}  // namespace protogcd
