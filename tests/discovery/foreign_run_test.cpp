// Images unlike all that is labelled, from the command line to findings and predictions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/random.h"
#include "protogcd/core/sha256.h"
#include "protogcd/image/encode.h"
#include "protogcd/run/findings_file.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::json_of;
using testing::run_protogcd;
using testing::TinyRun;

constexpr int kSide = 32, kOld = 5, kClasses = 7, kLabelled = 12;
constexpr std::size_t kStrays = 8;

/// Grey with a bright square where the class has it, or a red stray.
void draw(const fs::path& file, int which, RandomStream& random) {
  Image image(kSide, kSide);
  for (std::size_t p = 0; p < image.pixels.size(); ++p) {
    const int x = static_cast<int>(p / 3) % kSide, y = static_cast<int>(p / 3) / kSide;
    const bool in_square = x / 8 == which % 4 && y / 8 == which / 4;
    const int grey = in_square ? 220 : 110, red = p % 3 == 0 ? 235 : 0;
    image.pixels[p] =
        static_cast<std::uint8_t>((which < 0 ? red : grey) + static_cast<int>(random.below(20)));
  }
  write_png(file, image);
}

/// Classes that are about as far from each other as the new ones are, and strays where asked for.
struct Collection : TinyRun {
  explicit Collection(bool with_strays) {
    RandomStream random({.seed = 5});
    std::string truth = "path,label\n";
    create_folders(folder / "unlabelled");
    for (int c = 0; c < kClasses; ++c) {
      const std::string name = "class" + std::to_string(c);
      if (c < kOld) create_folders(folder / "labelled" / name);
      for (int i = 0; i < kLabelled; ++i) {
        const std::string file = std::to_string(i) + ".png";
        if (c < kOld) draw(folder / "labelled" / name / file, c, random);
        draw(folder / "unlabelled" / (name + file), c, random);
        truth += "unlabelled/" + name + file + "," + name + "\n";
      }
    }
    for (std::size_t i = 0; with_strays && i < kStrays; ++i)
      draw(folder / "unlabelled" / stray(i), -1, random);
    write_file_atomically(folder / "truth.csv", truth);
  }

  static std::string stray(std::size_t i) { return "a stray" + std::to_string(i) + ".png"; }

  std::vector<std::string> discover(const std::string& name,
                                    std::vector<std::string> more = {}) const {
    more.insert(more.end(),
                {"--labelled", folder / "labelled", "--unlabelled", folder / "unlabelled",
                 "--truth", folder / "truth.csv", "--k", std::to_string(kClasses)});
    return command("discover", name, more);
  }
};

std::set<std::string> foreign_in(const fs::path& run, const std::string& set) {
  std::set<std::string> paths;
  for (const Finding& one : read_findings(run / "findings.csv")) {
    if (one.kind != FindingKind::kForeign) continue;
    EXPECT_EQ(one.set, set);
    paths.insert(fs::path(one.path).filename().string());
  }
  return paths;
}

TEST(ForeignRun, StraysAreListedAndWhereAskedForNotTrainedOnButPredicted) {
  const Collection tiny(true);
  const auto listed = json_of(run_protogcd(tiny.discover("listed")));
  const auto result = run_protogcd(tiny.discover("aside", {"--set-foreign-aside"}));
  const auto aside = json_of(result);
  ASSERT_TRUE(fs::exists(tiny.folder / "aside/foreign.json"));
  EXPECT_FALSE(fs::exists(tiny.folder / "listed/foreign.json"));
  const auto names = foreign_in(tiny.folder / "aside", "set aside");
  std::set<std::string> strays;
  for (std::size_t i = 0; i < kStrays; ++i) strays.insert(Collection::stray(i));
  EXPECT_EQ(names, strays);
  EXPECT_EQ(foreign_in(tiny.folder / "listed", "unlabelled"), names);
  EXPECT_EQ(aside.at("findings").at("foreign"), names.size());
  EXPECT_EQ(aside.at("images"), listed.at("images"));
  EXPECT_THAT(result.errors, HasSubstr("unlike all that is labelled: not trained on"));

  // Predicted, each once, in both runs; and trained on in one alone.
  for (const char* run : {"listed", "aside"}) {
    const CsvTable table = CsvTable::read(tiny.folder / run / "predictions.csv");
    std::set<std::string> paths;
    for (const CsvRow& row : table.rows()) paths.insert(row.fields[table.column("path")]);
    EXPECT_EQ(paths.size(), table.rows().size());
    EXPECT_EQ(paths.size(), listed.at("images").at("unlabelled"));
  }
  // As if they had not been there.
  for (const std::string& name : names) fs::remove(tiny.folder / "unlabelled" / name);
  json_of(run_protogcd(tiny.discover("without")));
  const auto model = [&](const char* run) {
    return sha256_file(tiny.folder / run / "model/model.safetensors");
  };
  EXPECT_EQ(model("aside"), model("without"));
  EXPECT_NE(model("aside"), model("listed"));
}

TEST(ForeignRun, NothingIsSetAsideOfACleanCollection) {
  const Collection tiny(false);
  json_of(run_protogcd(tiny.discover("plain")));
  json_of(run_protogcd(tiny.discover("asked", {"--set-foreign-aside"})));
  EXPECT_THAT(foreign_in(tiny.folder / "asked", ""), IsEmpty());
  tiny.expect_same("asked", "plain");
}

TEST(ForeignRun, AResumedRunSetsTheSameImagesAside) {
  const Collection tiny(true);
  const std::vector<std::string> flags = {"--set-foreign-aside", "--checkpoint-seconds", "0"};
  json_of(run_protogcd(tiny.discover("straight", flags)));
  const auto file = tiny.folder / "killed/foreign.json";
  const auto killed = testing::signal_protogcd(tiny.discover("killed", flags), SIGKILL,
                                               [&] { return fs::exists(file); });
  ASSERT_EQ(killed.exit_code, -SIGKILL) << killed.errors;
  const std::string before = read_text_file(file);
  const std::vector<std::string> resume = {"discover", "--out", tiny.folder / "killed", "--resume",
                                           "--json"};
  for (const char* text :
       {"{}", R"({"settings": "9 unlabelled images"})",
        R"({"settings": "SAME", "places": [100000], "similarity": [0], "why_kept": ""})"}) {
    std::string wrong = text;
    if (const auto at = wrong.find("SAME"); at != std::string::npos)
      wrong.replace(at, 4, nlohmann::json::parse(before).at("settings").get<std::string>());
    write_file_atomically(file, wrong);
    const auto refused = run_protogcd(resume);
    EXPECT_NE(refused.exit_code, 0) << text;
    EXPECT_THAT(refused.errors, ::testing::AnyOf(HasSubstr("foreign.json"),
                                                 HasSubstr("foreign images were looked for with")));
  }
  write_file_atomically(file, before);
  json_of(run_protogcd(resume));
  EXPECT_EQ(read_text_file(file), before);
  tiny.expect_same("killed", "straight");
}

}  // namespace
}  // namespace protogcd
