// Corrections of a run become labels of the next round.
#include <gmock/gmock.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/run/corrections.h"
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
  Round() {
    create_folders(folder / "run");
    dataset.classes = {"owl", "leaf", "moon"};
    dataset.old_classes = 1;
    dataset.samples.push_back(
        {dataset.sources.add_path(folder / "owl.png"), 0, 0, SampleSet::kLabelled});
    CsvWriter predictions(folder / "run/predictions.csv", {"path", "class", "typicality"});
    for (int i = 0; i < 8; ++i) {
      const std::string name = std::to_string(i) + ".png";
      dataset.samples.push_back({dataset.sources.add_path(folder / name), kNoClass, i < 5 ? 2 : 1,
                                 SampleSet::kUnlabelled});
      predictions.row({"../" + name, i < 5 ? "new-01" : "new-02", "0." + std::to_string(i + 1)});
    }
    predictions.commit();
  }

  CorrectionSummary apply(const std::string& rows) {
    write_file_atomically(folder / "c.csv", "action,path,class,target\n" + rows);
    return apply_corrections(dataset, folder / "c.csv", folder / "run");
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

  TemporaryFolder folder;
  Dataset dataset;
};

TEST(Corrections, AnAcceptedClassLabelsItsTypicalHalf) {
  Round round;
  const auto summary = round.apply("accept,,new-01,\nrename,,new-01,moon\n");
  // Typicality 0.1 to 0.5: from the median, 0.3, on.
  EXPECT_THAT(round.labelled("moon"), ElementsAre("2.png", "3.png", "4.png"));
  EXPECT_EQ(summary.labelled, 3u);
  EXPECT_THAT(summary.new_classes, ElementsAre("moon"));
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

}  // namespace
}  // namespace protogcd
