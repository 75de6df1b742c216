// Rounds of corrections through the command line: what was said once is never lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_protogcd;
using testing::TinyRun;

struct Rounds : TinyRun {
  Rounds() : TinyRun(6) {
    const auto first = run_protogcd(discover("run"));
    EXPECT_EQ(first.exit_code, 0) << first.errors;
  }

  std::vector<std::string> discover(const std::string& name,
                                    const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"--epochs", "1", "--bank-views", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return command("discover", name, words);
  }

  /// Corrects `previous` by these rows into the run `name`.
  testing::ProgramResult correct(const std::string& name, const std::string& previous,
                                 const std::string& rows,
                                 const std::vector<std::string>& more = {}) const {
    const std::string file = folder / (name + ".csv");
    write_file_atomically(file, "action,path,class,target\n" + rows);
    std::vector<std::string> words = {"--corrections", file, "--previous", folder / previous};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(discover(name, words));
  }

  /// How many images each class has by corrections, from `labels RUN`.
  std::map<std::string, int> labels_by_corrections(const std::string& run) const {
    const auto printed = run_protogcd({"labels", folder / run});
    EXPECT_EQ(printed.exit_code, 0) << printed.errors;
    const CsvTable table = CsvTable::parse(printed.output, "labels");
    std::map<std::string, int> counts;
    for (const CsvRow& row : table.rows()) {
      EXPECT_TRUE(fs::exists(row.fields[table.column("path")]));
      if (row.fields[table.column("given_by")].starts_with("correction"))
        ++counts[row.fields[table.column("class")]];
    }
    return counts;
  }

  /// The largest new class of a run.
  std::string a_new_class(const std::string& run) const {
    const CsvTable table = CsvTable::read(folder / (run + "/predictions.csv"));
    std::map<std::string, int> counts;
    for (const CsvRow& row : table.rows()) {
      if (row.fields[table.column("is_new")] == "1") ++counts[row.fields[table.column("class")]];
    }
    EXPECT_FALSE(counts.empty());
    std::string largest = counts.begin()->first;
    for (const auto& [name, count] : counts)
      if (count > counts[largest]) largest = name;
    return largest;
  }
};

TEST(Rounds, AThirdRunKeepsLabelsAndNamesOfBothRoundsBefore) {
  const Rounds rounds;
  const std::string first = rounds.a_new_class("run");
  const auto second =
      rounds.correct("run-2", "run", "accept,," + first + ",\nrename,," + first + ",barn owl\n");
  ASSERT_EQ(second.exit_code, 0) << second.errors;
  const auto after_one = rounds.labels_by_corrections("run-2");
  ASSERT_GT(after_one.at("barn owl"), 0);

  const std::string other = rounds.a_new_class("run-2");
  const auto third =
      rounds.correct("run-3", "run-2", "accept,," + other + ",\nrename,," + other + ",heron\n");
  ASSERT_EQ(third.exit_code, 0) << third.errors;
  EXPECT_THAT(third.errors, HasSubstr("from rounds before"));
  const auto after_two = rounds.labels_by_corrections("run-3");
  EXPECT_EQ(after_two.at("barn owl"), after_one.at("barn owl"));
  EXPECT_GT(after_two.at("heron"), 0);

  // Renaming is enough to change what was labelled before; nothing new is accepted.
  const auto fourth = rounds.correct("run-4", "run-3", "rename,,barn owl,Tyto alba\n");
  ASSERT_EQ(fourth.exit_code, 0) << fourth.errors;
  const auto after_three = rounds.labels_by_corrections("run-4");
  EXPECT_EQ(after_three.at("Tyto alba"), after_one.at("barn owl"));
  EXPECT_EQ(after_three.at("heron"), after_two.at("heron"));

  const auto written =
      run_protogcd({"labels", rounds.folder / "run-4", "--out", rounds.folder / "all/labels.csv"});
  EXPECT_NE(written.exit_code, 0);  // there is no folder "all"
  EXPECT_THAT(written.errors, HasSubstr("all"));
}

TEST(Rounds, BoxesOfImagesAreFoundAndCorrectedLikeImages) {
  const TinyRun tiny(4);
  std::string manifest = "path,label,x,y,width,height\n";
  for (const char* set : {"labelled", "unlabelled"}) {
    for (const auto& entry : fs::recursive_directory_iterator(tiny.folder / "demo" / set)) {
      if (!entry.is_regular_file()) continue;
      const std::string label =
          set == std::string("labelled") ? entry.path().parent_path().filename().string() : "";
      for (const char* box : {"0,0,30,30", "10,10,30,30"})
        manifest += entry.path().string() + "," + label + "," + box + "\n";
    }
  }
  write_file_atomically(tiny.folder / "m.csv", manifest);
  const auto discover = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = tiny.command("discover", name, {"--epochs", "1"});
    for (const char* flag : {"--labelled", "--unlabelled", "--truth"}) {
      const auto at = std::ranges::find(words, flag);
      words.erase(at, at + 2);
    }
    words.insert(words.end(), {"--manifest", tiny.folder / "m.csv", "--bank-views", "2"});
    words.insert(words.end(), more.begin(), more.end());
    const auto result = run_protogcd(words);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
  };
  ASSERT_NO_FATAL_FAILURE(discover("run", {}));
  const CsvTable predictions = CsvTable::read(tiny.folder / "run/predictions.csv");
  ASSERT_GT(predictions.rows().size(), 2u);
  const auto& fields = predictions.rows()[1].fields;
  const std::string box = fields[predictions.column("path")];
  EXPECT_THAT(box, ::testing::MatchesRegex(".*png#[01]+,[01]+,30,30"));

  write_file_atomically(tiny.folder / "corrections.csv",
                        "action,path,class,target\nmove,\"" + box + "\"," +
                            fields[predictions.column("class")] + "," +
                            predictions.rows().back().fields[predictions.column("class")] + "\n");
  ASSERT_NO_FATAL_FAILURE(discover("next", {"--corrections", tiny.folder / "corrections.csv",
                                            "--previous", tiny.folder / "run"}));
  const auto printed = run_protogcd({"labels", tiny.folder / "next"});
  const CsvTable labels = CsvTable::parse(printed.output, "labels");
  EXPECT_EQ(
      std::ranges::count_if(labels.rows(),
                            [&](const CsvRow& row) {
                              return row.fields[labels.column("given_by")] == "correction 1" &&
                                     fs::path(box).filename() ==
                                         fs::path(row.fields[labels.column("path")]).filename();
                            }),
      1)
      << printed.output;
}

TEST(Rounds, CorrectionsOfImagesThatAreNotThereAreAnErrorThatSaysWhatWasLookedFor) {
  const Rounds rounds;
  const std::string found = rounds.a_new_class("run");
  fs::rename(rounds.folder / "demo", rounds.folder / "elsewhere");
  const std::vector<std::string> there = {"--labelled",   rounds.folder / "elsewhere/labelled",
                                          "--unlabelled", rounds.folder / "elsewhere/unlabelled",
                                          "--truth",      rounds.folder / "elsewhere/truth.csv"};
  const auto lost = rounds.correct("run-2", "run", "accept,," + found + ",\n", there);
  EXPECT_EQ(lost.exit_code, 4) << lost.errors;
  EXPECT_THAT(lost.errors, AllOf(HasSubstr("none of them"), HasSubstr("demo/unlabelled"),
                                 HasSubstr("--images-root DIR")));
  EXPECT_FALSE(fs::exists(rounds.folder / "run-2/config.toml"));
  auto with_root = there;
  with_root.insert(with_root.end(), {"--images-root", rounds.folder / "elsewhere/unlabelled"});
  const auto moved = rounds.correct("run-2", "run", "accept,," + found + ",\n", with_root);
  EXPECT_EQ(moved.exit_code, 0) << moved.errors;
  EXPECT_GT(rounds.labels_by_corrections("run-2").at(found), 0);
}

TEST(Rounds, ARenameAloneSaysWhatAcceptingWouldDo) {
  const Rounds rounds;
  const std::string found = rounds.a_new_class("run");
  const auto renamed = rounds.correct("run-2", "run", "rename,," + found + ",owl\n");
  EXPECT_EQ(renamed.exit_code, 0) << renamed.errors;
  EXPECT_THAT(renamed.errors,
              AllOf(HasSubstr("labels nothing"), HasSubstr("accept,," + found + ","),
                    HasSubstr("most typical images")));
  const auto accepted =
      rounds.correct("run-3", "run", "rename,," + found + ",owl\naccept,," + found + ",\n");
  EXPECT_THAT(accepted.errors, Not(HasSubstr("labels nothing")));
  // The same file once more, of the run that it was for before.
  const auto again =
      run_protogcd(rounds.discover("run-4", {"--corrections", rounds.folder / "run-3.csv",
                                             "--previous", rounds.folder / "run-3"}));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, HasSubstr("already"));
}

}  // namespace
}  // namespace protogcd
