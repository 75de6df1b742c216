// Two runs compared: how classes are matched, and what is written of the images that differ.
#include "protogcd/report/comparison.h"

#include <gmock/gmock.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/image/encode.h"
#include "tests/support/error_message.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
using testing::run_protogcd;

/// Nine images in common: the runs agree on six of them, under other names.
struct TwoRuns {
  TwoRuns() {
    for (const char* run : {"one", "two", "images"}) create_folders(folder / run);
    const char *first[] = {"owl", "owl", "owl", "<b>&", "<b>&", "<b>&", "<b>&", "rare", "rare"},
               *second[] = {"new-01", "new-01", "new-02", "new-02", "new-02",
                            "new-02", "new-02", "new-02", "new-02"};
    std::string one = "else.png,owl\n", two;
    for (int i = 0; i < 9; ++i) {
      const std::string name = "images/" + std::to_string(i) + ".png";
      write_png(folder / name, Image(9, 9));
      one += "../" + name + "," + first[i] + "\n";
      two += (folder / name).string() + "," + second[i] + "\n";  // the same file, written otherwise
    }
    put("one", one);
    put("two", two);
  }
  void put(const std::string& run, const std::string& rows) const {
    write_file_atomically(folder / (run + "/predictions.csv"), "path,class\n" + rows);
  }
  RunComparison compare() const { return compare_runs(folder / "one", folder / "two"); }

  testing::TemporaryFolder folder;
};

TEST(Comparison, ClassesAreMatchedWhateverTheirNames) {
  const TwoRuns runs;
  const RunComparison found = runs.compare();
  EXPECT_EQ(found.images, 9);
  EXPECT_EQ(found.only_first, 1);
  EXPECT_EQ(found.only_second, 0);
  EXPECT_EQ(found.agreeing, 6);
  ASSERT_EQ(found.classes.size(), 3u);
  EXPECT_EQ(found.classes[0].first, "<b>&");
  EXPECT_EQ(found.classes[0].second, "new-02");
  EXPECT_EQ(found.classes[0].both, 4);
  EXPECT_DOUBLE_EQ(found.classes[0].agreement(), 4.0 / 7);
  EXPECT_EQ(found.classes[1].first, "owl");
  EXPECT_EQ(found.classes[1].second, "new-01");
  EXPECT_DOUBLE_EQ(found.classes[1].agreement(), 2.0 / 3);
  EXPECT_EQ(found.classes[2].first, "rare");
  EXPECT_EQ(found.classes[2].second, "");
  EXPECT_EQ(found.classes[2].agreement(), 0);
  ASSERT_EQ(found.differing.size(), 3u);
  EXPECT_EQ(found.differing[0].first, "rare") << "the pair with most images comes first";
  EXPECT_EQ(found.differing[2].path, (runs.folder / "images/2.png").string());
  EXPECT_EQ(found.differing[2].second, "new-02");
}

TEST(Comparison, OfARunWithItselfIsWhole) {
  const TwoRuns runs;
  const RunComparison same = compare_runs(runs.folder / "one", runs.folder / "one/predictions.csv");
  EXPECT_EQ(same.agreement(), 1);
  EXPECT_TRUE(same.differing.empty());
  EXPECT_DOUBLE_EQ(same.ari, 1);
  for (const MatchedClasses& found : same.classes) EXPECT_EQ(found.first, found.second);
}

TEST(Comparison, RefusesRunsWithoutACommonImageAndImagesListedTwice) {
  const TwoRuns runs;
  runs.put("two", "0.png,owl\n");
  EXPECT_THAT(message_of<DataError>([&] { runs.compare(); }), HasSubstr("no image in common"));
  runs.put("two", "../images/0.png,owl\n./../images/0.png,owl\n");
  EXPECT_THAT(message_of<DataError>([&] { runs.compare(); }),
              HasSubstr("two/predictions.csv:3: './../images/0.png' was listed before"));
}

TEST(Comparison, TheVerbWritesATableOrAPage) {
  const TwoRuns runs;
  const auto compare = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"compare", runs.folder / "one", runs.folder / "two"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words);
  };
  const auto printed = compare({"--out", runs.folder / "diff.csv"});
  EXPECT_EQ(printed.exit_code, 0) << printed.errors;
  EXPECT_THAT(printed.output,
              AllOf(HasSubstr("6 of 9 images agree (66.7%)"),
                    HasSubstr("1 images of the first run alone"), HasSubstr("rare     -")));
  const CsvTable table = CsvTable::read(runs.folder / "diff.csv");
  ASSERT_EQ(table.rows().size(), 3u);
  EXPECT_THAT(table.rows()[2].fields, ElementsAre("images/2.png", "owl", "new-02"));

  const auto json = nlohmann::json::parse(compare({"--json"}).output);
  EXPECT_EQ(json.at("agreeing"), 6);
  EXPECT_EQ(json.at("classes").at(2).at("class_2"), nullptr);

  EXPECT_EQ(compare({"--out", runs.folder / "page.html"}).exit_code, 0);
  const std::string page = read_text_file(runs.folder / "page.html");
  EXPECT_THAT(page, AllOf(HasSubstr("rare &rarr; new-02 <small>2</small>"),
                          HasSubstr("data:image/jpeg;base64,"), HasSubstr("&lt;b&gt;&amp;"),
                          Not(HasSubstr("<b>&")), HasSubstr("images/2.png\"></i>")));
  EXPECT_THAT(page, HasSubstr("<i class=s0 style=\"background-position:-64px -0px\""));

  EXPECT_EQ(compare({"--out", runs.folder / "page.html"}).exit_code, 2) << "overwrote the page";
  EXPECT_THAT(compare({"--out", "x.pdf"}).errors, HasSubstr("ends in .html or .csv"));
  const auto missing = run_protogcd({"compare", runs.folder / "one", runs.folder / "none"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.errors, HasSubstr("RUN2: there is no folder"));
}

}  // namespace
}  // namespace protogcd
