// Runs that try several starts: what is kept, said and resumed.
#include <gmock/gmock.h>
#include <signal.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::json_of;
using ::testing::Not;
using testing::run_protogcd;
using testing::signal_protogcd;
using ::testing::SizeIs;
using testing::TinyRun;

const std::vector<std::string> kGeneral = {"--as-published=false", "--views", "bank",
                                           "--beginnings", "4"};

TEST(StartsRun, SeveralAreTriedAndItIsSaid) {
  const TinyRun tiny;
  const auto result = run_protogcd(tiny.train("run", kGeneral));
  json_of(result);
  EXPECT_THAT(result.errors, HasSubstr("the surest of 4 short trainings"));
  const auto starts = nlohmann::json::parse(tiny.read("run/starts.json"));
  EXPECT_THAT(starts.at("doubt"), SizeIs(4));
  EXPECT_THAT(starts.at("classes"), SizeIs(4));
  const auto classes = nlohmann::json::parse(tiny.read("run/result.json")).at("classes");
  for (const auto& found : classes)
    EXPECT_EQ(found.contains("stability"), found.at("images") > 0) << found;
  EXPECT_THAT(tiny.read("run/predictions.csv"), HasSubstr(",is_outlier,stability,class_1,"));
  // Other images get what the run found of their class.
  json_of(run_protogcd({"predict", "--model", tiny.folder / "run", "--images",
                        tiny.folder / "demo/outliers", "--out", tiny.folder / "p.csv", "--device",
                        "cpu", "--json"}));
  const CsvTable predicted = CsvTable::read(tiny.folder / "p.csv");
  const auto name = predicted.column("class"), stability = predicted.column("stability");
  for (const CsvRow& row : predicted.rows()) {
    for (const auto& found : classes) {
      if (found.at("name") != row.fields[name] || !found.contains("stability")) continue;
      EXPECT_NEAR(std::stod(row.fields[stability]), found.at("stability").get<double>(), 1e-6);
    }
  }

  auto model = nlohmann::json::parse(tiny.read("run/model/model.json"));
  model["stability"] = {0.5};
  write_file_atomically(tiny.folder / "run/model/model.json", model.dump());
  const auto damaged = run_protogcd({"predict", "--model", tiny.folder / "run", "--images",
                                     tiny.folder / "demo/outliers", "--device", "cpu"});
  EXPECT_EQ(damaged.exit_code, 5);
  EXPECT_THAT(damaged.errors, HasSubstr("model.json: stability of 1 classes, not of 16"));

  std::vector<std::string> again = kGeneral;
  again.insert(again.end(), {"--overwrite", "--beginnings", "1"});
  json_of(run_protogcd(tiny.train("run", again)));
  EXPECT_FALSE(std::filesystem::exists(tiny.folder / "run/starts.json"));
}

TEST(StartsRun, PublishedSettingsAndVeryShortRunsTryNone) {
  const TinyRun tiny;
  using Flags = std::vector<std::string>;
  for (const auto& flags : {Flags{"--views", "bank"}, Flags{"--as-published=false"},
                            Flags{"--beginnings", "4"}}) {  // which the published method cannot use
    const auto result = run_protogcd(tiny.train("run", flags));
    json_of(result);
    EXPECT_THAT(result.errors, Not(HasSubstr("short trainings")));
    EXPECT_FALSE(std::filesystem::exists(tiny.folder / "run/starts.json"));
    std::filesystem::remove_all(tiny.folder / "run");
  }
}

// The run is killed as soon as its starts are on disk: it goes on with them, to the same bits.
TEST(StartsRun, AResumedRunKeepsItsStarts) {
  const TinyRun tiny;
  std::vector<std::string> flags = kGeneral;
  flags.insert(flags.end(), {"--checkpoint-seconds", "0"});
  json_of(run_protogcd(tiny.train("straight", flags)));
  const auto file = tiny.folder / "killed/starts.json";
  const auto killed = signal_protogcd(tiny.train("killed", flags), SIGKILL,
                                      [&] { return std::filesystem::exists(file); });
  ASSERT_EQ(killed.exit_code, -SIGKILL) << killed.errors;
  const std::string before = read_text_file(file);
  const auto resumed =
      run_protogcd({"train", "--out", tiny.folder / "killed", "--resume", "--json"});
  json_of(resumed);
  EXPECT_THAT(resumed.errors, Not(HasSubstr("short trainings")));
  EXPECT_EQ(read_text_file(file), before);
  tiny.expect_same("killed", "straight");
}

// Before the first step a resumed run has nothing but this file.
TEST(StartsRun, ADamagedFileIsNamed) {
  const TinyRun tiny;
  const auto file = tiny.folder / "run/starts.json";
  signal_protogcd(tiny.train("run", kGeneral), SIGKILL,
                  [&] { return std::filesystem::exists(file); });
  for (const char* text : {"{}", "{\"settings\": \"others\", \"doubt\": [], \"classes\": []}"}) {
    write_file_atomically(file, text);
    const auto resumed =
        run_protogcd({"train", "--out", tiny.folder / "run", "--resume", "--json"});
    EXPECT_NE(resumed.exit_code, 0);
    EXPECT_THAT(resumed.errors, ::testing::AnyOf(HasSubstr("starts.json"),
                                                 HasSubstr("beginnings were tried with others")));
  }
}

}  // namespace
}  // namespace protogcd
