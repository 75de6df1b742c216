// Corrections of a run become labels of the next round, and stay so in all rounds after it.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/run/label_history.h"
#include "protogcd/run/run_files.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

/// One labelled owl, and eight unlabelled images: 0 to 4 predicted new-01, 5 to 7 new-02. The
/// hidden truth names "moon" and "leaf".
struct Round {
  Round() : dataset(data()) {
    write_predictions(
        "run", {"new-01", "new-01", "new-01", "new-01", "new-01", "new-02", "new-02", "new-02"});
  }

  Dataset data() const {
    Dataset fresh;
    fresh.labels_from = "folder";
    fresh.classes = {"owl", "leaf", "moon"};
    fresh.old_classes = 1;
    fresh.samples.push_back(
        {fresh.sources.add_path(folder / "owl.png"), 0, 0, SampleSet::kLabelled});
    for (int i = 0; i < 8; ++i) {
      fresh.samples.push_back({fresh.sources.add_path(folder / (std::to_string(i) + ".png")),
                               kNoClass, i < 5 ? 2 : 1, SampleSet::kUnlabelled});
    }
    return fresh;
  }

  /// What a run says of images 0 to 7; those with an empty class are labelled there.
  void write_predictions(const std::string& run, const std::vector<std::string>& classes) const {
    create_folders(folder / run);
    CsvWriter predictions(folder / (run + "/predictions.csv"),
                          {"path", "class", "is_new", "typicality"});
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (classes[i].empty()) continue;
      predictions.row({fmt::format("../{}.png", i), classes[i],
                       classes[i].starts_with("new-") ? "1" : "0", fmt::format("0.{}", i + 1)});
    }
    predictions.commit();
  }

  AppliedLabels apply(const std::string& rows) { return next("run", rows, "run-2"); }

  /// Corrects a run, and writes what the next one keeps.
  AppliedLabels next(const std::string& run, const std::string& rows, const std::string& out) {
    dataset = data();
    history = LabelHistory::of_run(folder / run);
    if (!rows.empty()) {
      write_file_atomically(folder / "c.csv", "action,path,class,target\n" + rows);
      summary = history.add_round(folder / "c.csv", folder / run);
    }
    const AppliedLabels applied = history.apply(dataset);
    create_folders(folder / out);
    history.write(folder / out, dataset);
    return applied;
  }

  /// Files of the labelled images of a class.
  std::vector<std::string> labelled(const std::string& name) const {
    std::vector<std::string> files;
    for (const Sample& sample : dataset.samples) {
      if (sample.set == SampleSet::kLabelled && dataset.class_name(sample.label) == name)
        files.push_back(dataset.sources.name(sample.source));
    }
    return files;
  }
  /// "2.png moon correction 1", a line an image, in the order of labels.csv.
  std::vector<std::string> kept(const std::string& run) const {
    std::vector<std::string> lines;
    for (const GivenLabel& label : read_labels(folder / run))
      lines.push_back(fmt::format("{} {} {}", label.path.filename().string(), label.class_name,
                                  label.given_by));
    return lines;
  }

  TemporaryFolder folder;
  Dataset dataset;
  LabelHistory history;
  RoundSummary summary;
};

TEST(Corrections, AnAcceptedClassLabelsItsTypicalHalf) {
  Round round;
  const auto applied = round.apply("accept,,new-01,\nrename,,new-01,moon\n");
  // Typicality 0.1 to 0.5: from the median, 0.3, on.
  EXPECT_THAT(round.labelled("moon"), ElementsAre("2.png", "3.png", "4.png"));
  EXPECT_EQ(applied.labelled, 3u);
  EXPECT_THAT(applied.new_classes, ElementsAre("moon"));
  EXPECT_THAT(round.dataset.classes, ElementsAre("owl", "moon", "leaf"));
  EXPECT_EQ(round.dataset.old_classes, 2u);
  // Hidden truths follow the classes to their new numbers, and labelled images come first.
  for (std::size_t i = 0; i < round.dataset.samples.size(); ++i) {
    const Sample& sample = round.dataset.samples[i];
    EXPECT_EQ(sample.set, i < 4 ? SampleSet::kLabelled : SampleSet::kUnlabelled);
    const int number = std::atoi(round.dataset.sources.name(sample.source).c_str());
    if (i < 4) continue;
    EXPECT_EQ(round.dataset.class_name(sample.truth), number < 5 ? "moon" : "leaf");
  }
}

TEST(Corrections, WrongImagesAreLeftOutAndConfirmedOnesTaken) {
  Round round;
  round.apply("accept,,new-01,\nwrong,../3.png,new-01,\naccept,../0.png,new-01,\n");
  EXPECT_THAT(round.labelled("new-01"), ElementsAre("0.png", "2.png", "4.png"));
}

TEST(Corrections, MergedClassesShareTheirLastName) {
  Round round;
  round.apply("merge,,new-02,new-01\naccept,,new-02,\naccept,,new-01,\nrename,,new-01,owl\n");
  EXPECT_THAT(round.labelled("owl"),
              ElementsAre("owl.png", "2.png", "3.png", "4.png", "6.png", "7.png"));
  EXPECT_EQ(round.dataset.old_classes, 1u);
}

TEST(Corrections, WithoutAcceptingNothingIsLabelled) {
  Round round;
  EXPECT_EQ(round.apply("rename,,new-01,moon\nwrong,../3.png,new-01,\n").labelled, 0u);
  EXPECT_EQ(round.dataset.old_classes, 1u);
  // What accepting would do is known, to be told.
  ASSERT_EQ(round.summary.unaccepted.size(), 1u);
  EXPECT_EQ(round.summary.unaccepted[0].class_name, "new-01");
  EXPECT_EQ(round.summary.unaccepted[0].called, "moon");
  EXPECT_EQ(round.summary.unaccepted[0].would_label, 3u);
}

TEST(Corrections, WhatIsWrongIsNamedWithItsLine) {
  Round round;
  EXPECT_THAT(message_of([&] { round.apply("delete,,new-01,\n"); }),
              AllOf(HasSubstr("c.csv:2"), HasSubstr("'delete'")));
  EXPECT_THAT(message_of([&] { round.apply("accept,,new-09,\n"); }), HasSubstr("'new-09'"));
  EXPECT_THAT(message_of([&] { round.apply("wrong,9.png,new-01,\n"); }), HasSubstr("'9.png'"));
  EXPECT_THAT(message_of([&] { round.apply("merge,,new-01,\n"); }), HasSubstr("target"));
  EXPECT_THAT(message_of([&] {
                round.apply("merge,,new-01,new-02\nmerge,,new-02,new-01\naccept,,new-01,\n");
              }),
              HasSubstr("circle"));
}

TEST(Corrections, AMovedImageIsOfTheTargetAndTheLastWordHolds) {
  Round round;
  round.apply(
      "move,../0.png,new-01,owl\nmove,../1.png,new-01,heron\n"
      "accept,../2.png,new-01,\nmove,../2.png,new-01,owl\nmove,../3.png,new-01,owl\n"
      "accept,../3.png,new-01,\n");
  EXPECT_THAT(round.labelled("owl"), ElementsAre("owl.png", "0.png", "2.png"));
  EXPECT_THAT(round.labelled("heron"), ElementsAre("1.png"));
  EXPECT_THAT(round.labelled("new-01"), ElementsAre("3.png"));
}

TEST(LabelHistory, ASecondRoundKeepsTheFirst) {
  Round round;
  round.apply("accept,,new-01,\nrename,,new-01,moon\n");
  EXPECT_THAT(round.kept("run-2"),
              ElementsAre("owl.png owl folder", "2.png moon correction 1",
                          "3.png moon correction 1", "4.png moon correction 1"));
  round.write_predictions("run-2", {"moon", "moon", "", "", "", "new-01", "new-01", "owl"});
  const auto applied = round.next("run-2", "accept,,new-01,\nrename,,new-01,leaf\n", "run-3");
  EXPECT_EQ(applied.labelled, 4u);
  EXPECT_EQ(round.summary.labelled, 1u);
  EXPECT_THAT(round.labelled("moon"), ElementsAre("2.png", "3.png", "4.png"));
  EXPECT_THAT(round.kept("run-3"), ElementsAre("owl.png owl folder", "2.png moon correction 1",
                                               "3.png moon correction 1", "4.png moon correction 1",
                                               "6.png leaf correction 2"));
  // And a run without corrections of its own continues both.
  round.next("run-3", "", "run-4");
  EXPECT_EQ(round.kept("run-4"), round.kept("run-3"));
}

TEST(LabelHistory, RenamingAndMergingChangesTheLabelsOfRoundsBefore) {
  Round round;
  round.apply("accept,,new-01,\nrename,,new-01,moon\n");
  round.write_predictions("run-2", {"moon", "moon", "", "", "", "new-01", "new-01", "owl"});
  const auto applied = round.next("run-2", "rename,,moon,luna\nrename,,owl,strix\n", "run-3");
  EXPECT_THAT(round.labelled("luna"), ElementsAre("2.png", "3.png", "4.png"));
  EXPECT_THAT(round.labelled("strix"), ElementsAre("owl.png"));
  EXPECT_THAT(applied.renamed,
              ElementsAre(std::pair<const std::string, std::string>{"owl", "strix"}));
  // "moon" is nobody's name any more: hidden truths follow.
  EXPECT_THAT(round.dataset.classes, ElementsAre("strix", "luna", "leaf"));
  // The data still says "owl", whatever round it is.
  round.write_predictions("run-3", {"luna", "luna", "", "", "", "new-01", "new-01", "strix"});
  round.next("run-3", "merge,,luna,strix\n", "run-4");
  EXPECT_THAT(round.labelled("strix"), ElementsAre("owl.png", "2.png", "3.png", "4.png"));
  EXPECT_EQ(round.dataset.old_classes, 1u);
}

TEST(LabelHistory, AClassThatOnlyARunNamedIsAnotherOneInTheNext) {
  Round round;
  round.apply("rename,,new-01,moon\nwrong,../7.png,new-02,\nmove,../0.png,new-01,heron\n");
  round.write_predictions("run-2", {"", "new-01", "owl", "owl", "owl", "owl", "new-02", "new-02"});
  round.next("run-2", "accept,,new-01,\naccept,,new-02,\n", "run-3");
  EXPECT_THAT(round.labelled("new-01"), ElementsAre("1.png"));
  EXPECT_THAT(round.labelled("new-02"), ElementsAre("7.png"));
  EXPECT_THAT(round.labelled("heron"), ElementsAre("0.png"));
}

TEST(LabelHistory, WhatWasCalledWrongOnceStaysOutOfTheClass) {
  Round round;
  round.apply("accept,,new-01,\nrename,,new-01,moon\nwrong,../4.png,new-01,\n");
  round.write_predictions("run-2", {"owl", "owl", "", "", "moon", "owl", "moon", "moon"});
  round.next("run-2", "accept,,moon,\nrename,,moon,luna\n", "run-3");
  EXPECT_THAT(round.labelled("luna"), ElementsAre("2.png", "3.png", "6.png", "7.png"));
}

TEST(LabelHistory, ALabelOfARoundBeforeCanBeTakenBackOrChanged) {
  Round round;
  round.apply("accept,,new-01,\nrename,,new-01,moon\n");
  round.write_predictions("run-2", {"moon", "moon", "", "", "", "new-01", "new-01", "owl"});
  round.next("run-2", "wrong,../2.png,moon,\nmove,../3.png,moon,owl\n", "run-3");
  EXPECT_THAT(round.labelled("moon"), ElementsAre("4.png"));
  EXPECT_THAT(round.labelled("owl"), ElementsAre("owl.png", "3.png"));
}

TEST(LabelHistory, TheDatasOwnLabelHoldsAndThatIsKnown) {
  Round round;
  round.apply("accept,,new-01,\nrename,,new-01,moon\n");
  LabelHistory history = LabelHistory::of_run(round.folder / "run-2");
  Dataset data = round.data();
  data.samples[3].set = SampleSet::kLabelled;  // 2.png, now an owl by its folder
  data.samples[3].label = data.samples[3].truth = 0;
  data.order_by_set();
  const AppliedLabels applied = history.apply(data);
  EXPECT_EQ(applied.overruled, 1u);
  EXPECT_THAT(applied.overruled_example, AllOf(HasSubstr("2.png"), HasSubstr("'owl', not 'moon'")));
  create_folders(round.folder / "run-3");
  history.write(round.folder / "run-3", data);
  EXPECT_THAT(round.kept("run-3"), ::testing::Contains("2.png owl folder"));
}

TEST(LabelHistory, ImagesThatWereMovedAreLookedForAndNamedIfNoneIsFound) {
  Round round;
  round.apply("accept,,new-01,\nrename,,new-01,moon\n");
  const auto elsewhere = [&](const std::string& place) {
    Dataset data = round.data();
    data.sources = {};
    for (Sample& sample : data.samples) {
      const int number = static_cast<int>(&sample - data.samples.data()) - 1;
      sample.source = data.sources.add_path(
          round.folder /
          fmt::format("{}/{}.png", place, number < 0 ? "owl" : std::to_string(number)));
    }
    return data;
  };
  Dataset moved = elsewhere("attic/photos");
  LabelHistory history = LabelHistory::of_run(round.folder / "run-2");
  EXPECT_THAT(message_of([&] { LabelHistory(history).apply(moved); }),
              AllOf(HasSubstr("none of them"), HasSubstr("2.png")));
  const AppliedLabels applied = history.apply(moved, round.folder / "attic/photos");
  EXPECT_EQ(applied.labelled, 3u);
  create_folders(round.folder / "run-3");
  history.write(round.folder / "run-3", moved);
  EXPECT_THAT(read_text_file(round.folder / "run-3/labels.csv"),
              HasSubstr("../attic/photos/2.png,moon,correction 1"));
}

TEST(LabelHistory, LabelsOfImagesThatAreNotThereAreKept) {
  Round round;
  round.apply("accept,,new-01,\nrename,,new-01,moon\n");
  LabelHistory history = LabelHistory::of_run(round.folder / "run-2");
  Dataset fewer = round.data();
  fewer.samples.erase(fewer.samples.begin() + 3);  // 2.png
  EXPECT_EQ(history.apply(fewer).unmatched, 1u);
  create_folders(round.folder / "run-3");
  history.write(round.folder / "run-3", fewer);
  EXPECT_THAT(round.kept("run-3"),
              ::testing::Contains("2.png moon correction 1 (image not in this run)"));
  round.next("run-3", "", "run-4");
  EXPECT_THAT(round.kept("run-4"), ::testing::Contains("2.png moon correction 1"));
}

TEST(LabelHistory, CorrectionsOfRunsThatKeptNoLabelsAreReadAgain) {
  Round round;
  write_file_atomically(round.folder / "first.csv",
                        "action,path,class,target\naccept,,new-01,\nrename,,new-01,moon\n");
  round.write_predictions("old", {"moon", "moon", "", "", "", "new-01", "new-01", "owl"});
  write_file_atomically(
      round.folder / "old/config.toml",
      fmt::format("corrections = '{}'\nprevious = '{}'\n", (round.folder / "first.csv").string(),
                  (round.folder / "run").string()));
  round.next("old", "", "new");
  EXPECT_THAT(round.labelled("moon"), ElementsAre("2.png", "3.png", "4.png"));
}

}  // namespace
}  // namespace protogcd
