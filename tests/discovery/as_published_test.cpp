// `--as-published`: what it sets, what it leaves alone, and the table in docs/method.md that says
// so.
#include "protogcd/discovery/as_published.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <sstream>

#include "protogcd/core/machine_options.h"
#include "protogcd/core/text.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/methods/registry.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using ::testing::ElementsAreArray;

using Values = std::map<std::string, std::string>;

/// Every option's value after flags like {"preset", "paper"}, by key; empty where it has none.
Values values_of(DiscoverOptions options, const std::vector<PublishedSetting>& flags = {}) {
  MachineOptions machine;
  OptionTable table;
  declare_discover_options(table, options);
  declare_machine_options(table, machine);
  for (const auto& [key, value] : flags) {
    const auto problem =
        table.find(key)->assign(std::vector<std::string>{value}, OptionSource::kFlag);
    EXPECT_FALSE(problem) << key << ": " << *problem;
  }
  table.finish_reading();
  resolve(options.train, {});
  Values values;
  for (const Option& option : table.options()) values[option.key()] = option.to_toml();
  return values;
}

TEST(AsPublished, IsTheSameOnTrainAndDiscoverButForTheNumberOfClasses) {
  const std::vector<PublishedSetting> published = {{"as_published", "true"}};
  Values train = values_of(DiscoverOptions::for_train(), published),
         discover = values_of(DiscoverOptions(), published);
  // discover counts classes where nobody says K, and looks at the images before; neither changes a
  // number of the training.
  for (const char* key : {"estimate_k", "look_at_data"}) {
    EXPECT_NE(train.at(key), discover.at(key)) << key;
    train.erase(key);
    discover.erase(key);
  }
  EXPECT_EQ(train, discover);
}

TEST(AsPublished, NamesOptionsThatThereAre) {
  for (const std::string& name : method_names()) {
    DiscoverOptions options;
    options.train.method = find_method(name);
    if (!options.train.method->trains()) continue;
    MachineOptions machine;
    OptionTable table;
    declare_discover_options(table, options);
    declare_machine_options(table, machine);
    for (const auto& [key, value] : published_settings(*options.train.method, "cub"))
      EXPECT_TRUE(table.suggest(key, value)) << name << ": " << key;
  }
}

TEST(AsPublished, WhatSomebodySaysStays) {
  const Values values = values_of({}, {{"as_published", "true"},
                                       {"views", "bank"},
                                       {"eval_every", "20"},
                                       {"lambda_entropy", "3"},
                                       {"dtype", "float32"},
                                       {"outlier_score", "vmf"}});
  EXPECT_EQ(values.at("views"), "\"bank\"");
  EXPECT_EQ(values.at("eval_every"), "20");
  EXPECT_EQ(values.at("lambda_entropy"), "3.0");
  EXPECT_EQ(values.at("dtype"), "\"float32\"");
  EXPECT_EQ(values.at("outlier_score"), "\"vmf\"");
  EXPECT_EQ(values.at("borrow"), "0.0") << "still as published, though there is a bank";
  EXPECT_EQ(values.at("beginnings"), "1");
}

TEST(AsPublished, TheWeightOfTheEntropyIsTheDatasets) {
  for (const BenchmarkInfo& benchmark : benchmarks()) {
    const std::string name(benchmark.name);
    const bool is_one = name == "cifar10" || name == "aircraft";
    const Values values = values_of({}, {{"as_published", "true"}, {"dataset", name}});
    EXPECT_EQ(values.at("lambda_entropy"), is_one ? "1.0" : "2.0") << name;
  }
}

TEST(AsPublished, SimGcdHasTheWeightsOfItsScripts) {
  DiscoverOptions options;
  options.train.method = find_method("simgcd");
  for (const auto& [dataset, weight] : {std::pair{"cifar10", "1.0"},
                                        {"cifar100", "4.0"},
                                        {"imagenet100", "1.0"},
                                        {"cub", "2.0"},
                                        {"scars", "1.0"},
                                        {"aircraft", "1.0"},
                                        {"herbarium19", "1.0"}}) {
    const Values values = values_of(options, {{"as_published", "true"}, {"dataset", dataset}});
    EXPECT_EQ(values.at("memax_weight"), weight) << dataset;
  }
}

// Its release clusters with 100 starts once, and counts classes in a way of its own.
TEST(AsPublished, GcdsOwnSettingsWinOverThoseOfAll) {
  DiscoverOptions options;
  options.train.method = find_method("gcd");
  const Values values = values_of(options, {{"as_published", "true"}});
  EXPECT_EQ(values.at("eval_every"), values.at("epochs"));
  EXPECT_EQ(values.at("kmeans_starts"), "100");
  EXPECT_EQ(values.at("plain_seeding"), "true");
  EXPECT_EQ(values.at("rule"), "\"max-acc\"");
  EXPECT_EQ(values.at("views"), "\"fresh\"") << "as all";
  EXPECT_EQ(values_of(options, {{"as_published", "true"}, {"eval_every", "7"}}).at("eval_every"),
            "7");
}

TEST(AsPublished, FalseIsOurOwnSettingsAlsoOnTrain) {
  const Values values = values_of(DiscoverOptions::for_train(), {{"as_published", "false"}});
  EXPECT_EQ(values.at("preset"), "\"general\"");
  EXPECT_EQ(values.at("views"), "\"fresh\"") << "train's own";
}

/// Lines of a table: an option, then what each way of asking makes of it; those that differ.
std::vector<std::string> rows_of_differences() {
  const std::vector<PublishedSetting> published = {{"as_published", "true"}};
  const Values columns[] = {values_of({}), values_of(DiscoverOptions::for_train()),
                            values_of(DiscoverOptions::for_train(), {{"preset", "paper"}}),
                            values_of(DiscoverOptions::for_train(), published)};
  std::vector<std::string> rows;
  for (const auto& [key, first] : columns[0]) {
    std::string row = fmt::format("| `--{}` |", kebab_case(key));
    bool differs = false;
    for (const Values& column : columns) {
      std::string value = column.at(key);
      differs = differs || value != first;
      std::erase(value, '"');
      row += fmt::format(" {} |", value.empty() ? "as it comes" : value);
    }
    if (differs && key != "as_published") rows.push_back(row);
  }
  return rows;
}

TEST(AsPublished, TheTableInTheDocumentsIsWhatTheCodeSets) {
  std::ifstream page(testing::source_folder() + "/docs/method.md");
  std::vector<std::string> rows;
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_table = line == "## Who sets what";
    if (is_table && line.starts_with("| `--")) rows.push_back(line);
  }
  EXPECT_THAT(rows, ElementsAreArray(rows_of_differences())) << "the table should be:\n"
                                                             << join(rows_of_differences(), "\n");
}

}  // namespace
}  // namespace protogcd
