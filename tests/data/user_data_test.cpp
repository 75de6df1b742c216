#include "protogcd/data/user_data.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/data/class_split.h"
#include "tests/data/layouts.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::put_file;
using testing::put_image;

std::string parse_message(const std::string& text) {
  return message_of<DataError>([&] { parse_manifest(text, "m.csv", "f"); });
}

std::string describe(const Dataset& dataset) {
  std::string text;
  for (const auto& sample : dataset.samples) {
    text += dataset.sources.name(sample.source) + ":" + std::to_string(sample.label) + "/" +
            std::to_string(sample.truth) + ":" + std::string(sample_set_name(sample.set)) + " ";
  }
  return text;
}

TEST(Folders, ClassesAreFolderPathsSortedByBytes) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"cat/1.png", "Zebra/2.png", "birds/owl/3.png", "birds/4.png"}) {
    put_image(folder / "labelled" / name);
  }
  put_image(folder / "rest/x/5.png");
  const Dataset dataset = load_folders(folder / "labelled", folder / "rest");
  EXPECT_THAT(dataset.classes, ElementsAre("Zebra", "birds", "birds/owl", "cat"));
  EXPECT_EQ(dataset.old_classes, 4u);
  EXPECT_EQ(describe(dataset),
            "2.png:0/0:labelled 4.png:1/1:labelled 3.png:2/2:labelled 1.png:3/3:labelled "
            "5.png:-1/-1:unlabelled ");
}

TEST(Folders, AnImageWithoutAClassIsNamed) {
  const testing::TemporaryFolder folder;
  put_image(folder / "labelled/a/1.png");
  put_image(folder / "labelled/stray.png");
  // A trailing slash must not hide it.
  for (const char* name : {"labelled", "labelled/", "labelled/."}) {
    EXPECT_THAT(message_of<DataError>([&] { load_folders(folder / name, {}); }),
                HasSubstr("stray.png"));
  }
}

TEST(Folders, RefusesEmptyAndOverlappingFolders) {
  const testing::TemporaryFolder folder;
  put_image(folder / "all/a/1.png");
  std::filesystem::create_directory(folder / "empty");
  EXPECT_THAT(message_of<DataError>([&] { load_folders(folder / "all", folder / "empty"); }),
              AllOf(HasSubstr("empty"), HasSubstr("no image files")));
  EXPECT_THAT(message_of<DataError>([&] { load_folders(folder / "all", folder / "all/a"); }),
              HasSubstr("one lies inside the other"));
  EXPECT_THAT(message_of<DataError>([&] { load_folders(folder / "all", folder.path()); }),
              HasSubstr("one lies inside the other"));
  put_image(folder / "all-2/1.png");
  EXPECT_EQ(message_of<DataError>([&] { load_folders(folder / "all", folder / "all-2"); }),
            "accepted");
}

TEST(Manifest, SetsFollowLabelAndSplit) {
  const Dataset dataset = parse_manifest(
      "path,label,split,truth\n"
      "t.png,owl,test,\n"
      "u.png,,train,\n"
      "h.png,,,cat\n"
      "l.png,dog,,\n"
      "n.png,,test,\n",
      "m.csv", "folder");
  EXPECT_THAT(dataset.classes, ElementsAre("dog", "cat", "owl")) << "old first, then new by bytes";
  EXPECT_EQ(dataset.old_classes, 1u);
  EXPECT_EQ(describe(dataset),
            "l.png:0/0:labelled u.png:-1/-1:unlabelled h.png:-1/1:unlabelled t.png:-1/2:test "
            "n.png:-1/-1:test ");
  EXPECT_EQ(dataset.sources.path(0), "folder/t.png");
}

TEST(Manifest, RefusesWithFileAndLine) {
  EXPECT_THAT(parse_message("path,lable\nx,y\n"),
              HasSubstr("m.csv:1: unknown column 'lable'; did"));
  EXPECT_THAT(parse_message("path\nx\n"), HasSubstr("m.csv:1: no column 'label'"));
  EXPECT_THAT(parse_message("path,label,label\nx,y,y\n"), HasSubstr("'label' occurs twice"));
  EXPECT_THAT(parse_message("path,label,split\na,b,train\nx,y,val\n"),
              HasSubstr("m.csv:3: split is 'val'"));
  EXPECT_THAT(parse_message("path,label\n,y\n"), HasSubstr("m.csv:2: '' is not a file's path"));
  EXPECT_THAT(parse_message("path,label,truth\nx,a,b\n"), HasSubstr("m.csv:2: label 'a'"));
  EXPECT_THAT(parse_message("path,label\nx,a\ny,a\n./x,b\n"),
              HasSubstr("m.csv:4: './x' was listed before, in line 2"));
  EXPECT_THAT(parse_message("path,label\n"), HasSubstr("lists no images"));
  EXPECT_THAT(parse_message(""), HasSubstr("m.csv"));
}

TEST(Manifest, PathsAreRelativeToItsFolder) {
  const testing::TemporaryFolder folder;
  put_image(folder / "images/a.png");
  put_file(folder / "lists/m.csv", "path,label\n../images/a.png,cat\n");
  EXPECT_TRUE(std::filesystem::exists(load_manifest(folder / "lists/m.csv").sources.path(0)));
  put_file(folder / "lists/wrong.csv", "path,label\nimages/a.png,cat\n");
  EXPECT_THAT(message_of<DataError>([&] { load_manifest(folder / "lists/wrong.csv"); }),
              AllOf(HasSubstr("wrong.csv"), HasSubstr("lists/images/a.png")));
}

TEST(ClassSplit, HalfOfTheFirstClassesIsLabelledWhoeverWasBefore) {
  std::string text = "path,label,split,truth\nx.png,ape,test,\nu.png,,,\n";
  for (int i = 0; i < 8; ++i) {
    text += fmt::format("a{0}.png,ape,,\nb{0}.png,,,bee\nc{0}.png,,,cat\n", i);
  }
  const Dataset given = parse_manifest(text, "m.csv", "folder");
  for (const std::size_t old_classes : {1, 2, 3}) {
    Dataset dataset = given;
    choose_old_classes(dataset, old_classes);
    EXPECT_EQ(dataset.old_classes, old_classes);
    EXPECT_EQ(dataset.classes, given.classes);
    EXPECT_EQ(dataset.count(SampleSet::kLabelled), 4 * old_classes);
    EXPECT_EQ(dataset.count(SampleSet::kTest), 1u);
    EXPECT_EQ(dataset.samples.size(), given.samples.size());
    for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
      const Sample& sample = dataset.samples[i];
      const bool labelled = sample.set == SampleSet::kLabelled;
      EXPECT_EQ(labelled, i < 4 * old_classes) << "labelled ones come first";
      EXPECT_EQ(sample.label, labelled ? sample.truth : kNoClass);
      EXPECT_TRUE(!labelled || dataset.is_old(sample.truth));
    }
  }
}

TEST(ClassSplit, NeedsKnownClassesAndALabelledImageOfEach) {
  Dataset plain = parse_manifest("path,label\na.png,\n", "m.csv", "folder");
  EXPECT_THAT(message_of<UsageError>([&] { choose_old_classes(plain, 1); }),
              HasSubstr("there are 0 known classes"));
  Dataset tiny = parse_manifest("path,label,truth\na.png,a,\nb.png,,b\n", "m.csv", "folder");
  EXPECT_THAT(message_of<DataError>([&] { choose_old_classes(tiny, 2); }),
              HasSubstr("is among the labelled ones"));
}

class Truth : public ::testing::Test {
 protected:
  Truth() {
    put_image(folder_ / "labelled/cat/1.png");
    put_image(folder_ / "rest/2.png");
    put_image(folder_ / "rest/deep/3.png");
  }
  Dataset with_truth(const std::string& csv) {
    put_file(folder_ / "t/truth.csv", csv);
    Dataset dataset = load_folders(folder_ / "labelled", folder_ / "rest");
    const std::vector<std::filesystem::path> roots = {folder_ / "rest"};
    apply_truth(dataset, folder_ / "t/truth.csv", roots);
    return dataset;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Truth, NumbersNewClassesAfterOldOnes) {
  const Dataset dataset = with_truth("path,label\n../rest/2.png,ant\n../rest/deep/3.png,cat\n");
  EXPECT_THAT(dataset.classes, ElementsAre("cat", "ant"));
  EXPECT_EQ(describe(dataset), "1.png:0/0:labelled 2.png:-1/1:unlabelled 3.png:-1/0:unlabelled ");
  EXPECT_TRUE(dataset.warnings.empty());
}

TEST_F(Truth, PathsMayBeRelativeToTheImagesAndStrayRowsAreReported) {
  const Dataset dataset = with_truth("path,label\ndeep/3.png,ant\nnowhere.png,ant\n");
  EXPECT_EQ(describe(dataset), "1.png:0/0:labelled 2.png:-1/-1:unlabelled 3.png:-1/1:unlabelled ");
  EXPECT_THAT(dataset.notes, ElementsAre(AllOf(HasSubstr("1 rows"), HasSubstr("nowhere.png"))));
}

TEST_F(Truth, OfALinkedFolderIsFoundToo) {
  std::filesystem::create_directories(folder_ / "far/away");
  std::filesystem::create_directory_symlink(folder_ / "far/away", folder_ / "t");
  const Dataset dataset = with_truth("path,label\n../../rest/2.png,ant\n");
  EXPECT_THAT(dataset.classes, ElementsAre("cat", "ant"));
}

TEST_F(Truth, RefusesContradictionsAndFilesThatDoNotBelong) {
  EXPECT_THAT(message_of<DataError>([&] { with_truth("path,label\na.png,x\n"); }),
              HasSubstr("none of its 1"));
  EXPECT_THAT(message_of<DataError>([&] { with_truth("path,label\n2.png,x\n../rest/2.png,y\n"); }),
              HasSubstr("truth.csv:3"));
  EXPECT_THAT(message_of<DataError>([&] { with_truth("path,label\n../labelled/cat/1.png,dog\n"); }),
              HasSubstr("'cat' was given before"));
  EXPECT_THAT(message_of<DataError>([&] { with_truth("path,label\n2.png,\n"); }),
              HasSubstr("truth.csv:2"));
}

}  // namespace
}  // namespace protogcd
