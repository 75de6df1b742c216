// What options decide when nobody says: defaults that depend on others, and what a run is known by
// when it is resumed.
#include "protogcd/discovery/train_options.h"

#include <gmock/gmock.h>

#include "protogcd/discovery/discover.h"
#include "protogcd/methods/registry.h"

namespace protogcd {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TrainOptions, ABankBorrowsDifferencesUnlessItIsTold) {
  TrainOptions bank, fresh, told;
  bank.material.use_bank = told.material.use_bank = true;
  told.material.borrow = 0.25;
  EXPECT_THAT(resolve(bank, {}), Contains(HasSubstr("borrow 1")));
  EXPECT_THAT(resolve(fresh, {}), Not(Contains(HasSubstr("borrow"))));
  EXPECT_THAT(resolve(told, {}), Not(Contains(HasSubstr("borrow"))));
  EXPECT_EQ(bank.material.borrow, 1);
  EXPECT_EQ(fresh.material.borrow, 0);
  EXPECT_EQ(told.material.borrow, 0.25);
}

TEST(TrainOptions, ResolvingTwiceChangesNothing) {
  for (const std::string& name : method_names()) {
    DiscoverOptions options;
    options.train.method = find_method(name);
    options.train.loop.schedule.epochs = 60;
    resolve(options.train, {.has_builtin_backbone = true});
    const std::string once = configuration_of(options, {});
    EXPECT_TRUE(resolve(options.train, {}).empty()) << name;
    EXPECT_EQ(configuration_of(options, {}), once) << name;
  }
}

TEST(TrainOptions, ALibraryCallerGetsTheSameDefaultsAsTheCommandLine) {
  DiscoverOptions options;
  options.train.loop.schedule.epochs = 60;
  resolve(options.train, {.has_builtin_backbone = true});
  const std::string configuration = configuration_of(options, {});
  EXPECT_THAT(configuration, HasSubstr("\nramp_epochs = 30\n"));
  EXPECT_THAT(configuration, HasSubstr("\nhead_hidden = 512\n"));
  EXPECT_THAT(configuration, HasSubstr("\nborrow = 1.0\n"));
  EXPECT_THAT(configuration, HasSubstr("method = \"protogcd\"\n"));
}

/// Gives an option another value that it takes.
void change(Option& option) {
  const std::string before = option.to_toml();
  std::vector<std::string> values = option.choices();
  values.insert(values.end(), {"true", "false", "1", "2", "3", "0.25"});
  for (const std::string& value : values) {
    const bool taken = !option.assign(std::vector<std::string>{value}, OptionSource::kFlag);
    if (taken && option.to_toml() != before) return;
  }
  ADD_FAILURE() << option.key() << " takes no other value";
}

// Every option that can change a number is part of what a run is recognised by: forgetting one
// would let --resume go on with other settings.
TEST(TrainOptions, EveryOptionThatIsNotIncidentalIsPartOfTheIdentity) {
  for (const std::string& name : method_names()) {
    const auto fresh = [&] {
      TrainOptions options;
      options.method = find_method(name);
      resolve(options, {});
      return options;
    };
    const auto before = identity_of(fresh());
    EXPECT_EQ(before.at("method"), name);
    TrainOptions counted = fresh();
    OptionTable all;
    declare_train_options(all, counted);
    int changed = 0;
    for (std::size_t i = 0; i < all.options().size(); ++i) {
      TrainOptions options = fresh();
      OptionTable table;
      declare_train_options(table, options);
      Option& option = table.options()[i];
      if (option.is_path()) continue;
      change(option);
      EXPECT_EQ(identity_of(options) == before, option.is_incidental()) << option.key();
      changed += option.is_incidental() ? 0 : 1;
    }
    EXPECT_GT(changed, find_method(name)->trains() ? 15 : 1) << name;
  }
}

// What names a result (its data, weights, outputs) and what only says how it is computed.
TEST(TrainOptions, WhatIsIncidentalIsNamedHere) {
  TrainOptions options;
  OptionTable table;
  declare_train_options(table, options);
  std::vector<std::string> incidental;
  for (const Option& option : table.options())
    if (option.is_incidental()) incidental.push_back(option.key());
  EXPECT_THAT(incidental,
              ::testing::UnorderedElementsAre(
                  "out", "overwrite", "resume", "from", "k", "as_published", "calibrate_confidence",
                  "tune", "set_foreign_aside", "eval_every", "checkpoint_seconds", "deterministic",
                  "outlier_score", "outlier_keep", "drop_empty", "report", "look_at_data", "prior",
                  "init_prototypes", "bank_home", "bank_dir", "bank_max", "cache_gb", "estimate_k",
                  "rule", "k_max", "cluster_steps", "min_steps", "seeds"));
}

}  // namespace
}  // namespace protogcd
