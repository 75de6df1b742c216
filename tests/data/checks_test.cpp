// Duplicates, verification, skipped files and image sets.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <set>
#include <thread>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/npy.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/data/calibration_set.h"
#include "protogcd/data/duplicates.h"
#include "protogcd/data/image_set.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/user_data.h"
#include "protogcd/data/verify.h"
#include "protogcd/image/encode.h"
#include "tests/data/layouts.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Duplicates, AreFoundByContentAlone) {
  const TemporaryFolder folder;
  // Equal in size, head and tail; they differ in the middle only.
  std::string middle_a(20000, 'x'), middle_b = middle_a;
  middle_b[10000] = 'y';
  put_image(folder / "0.png", middle_a);
  put_image(folder / "1.png", middle_b);
  put_image(folder / "deep/2.png", middle_a);
  put_image(folder / "3.png", "short");
  put_image(folder / "4.png", "short");
  put_image(folder / "5.png", "shorT");
  put_image(folder / "6.png", "short");
  const Dataset dataset = load_images(folder.path());
  const DuplicateReport report = find_duplicates(dataset);
  // Images of the top folder come first: 0 1 3 4 5 6, then deep/2.
  EXPECT_THAT(report.groups, ElementsAre(ElementsAre(0, 6), ElementsAre(2, 3, 5)));
  EXPECT_EQ(report.extra_files(), 3u);
  EXPECT_THAT(report.unreadable, IsEmpty());
}

/// "file: reason" of every image that cannot be read.
std::vector<std::string> unreadable_of(const Dataset& dataset, std::size_t threads = 2) {
  const Context context{.threads = threads};
  SkippedFiles skipped(BadImagePolicy::parse("skip", "100%"), dataset.samples.size());
  find_unreadable(dataset, {}, context, skipped);
  std::vector<std::string> texts;
  for (const auto& file : skipped.files()) {
    texts.push_back(fmt::format("{}: {}", dataset.sources.name(file.source), file.reason));
  }
  return texts;
}

TEST(Verify, FindsMissingEmptyForeignAndCutFiles) {
  const TemporaryFolder folder;
  put_image(folder / "good.png");
  put_file(folder / "empty.png", "");
  put_file(folder / "text.png", "hello");
  const std::string jpeg = encode_jpeg(Image(40, 30));
  put_file(folder / "cut.jpg", jpeg.substr(0, jpeg.size() - 40));
  put_file(folder / "a_jpeg_by_content.png", jpeg);
  put_file(folder / "m.csv",
           "path,label\ngood.png,a\nempty.png,a\ntext.png,a\ncut.jpg,a\nmissing.png,a\n"
           "a_jpeg_by_content.png,a\n");
  EXPECT_THAT(
      unreadable_of(load_manifest(folder / "m.csv")),
      ElementsAre(HasSubstr("empty.png: empty"), HasSubstr("text.png: not an image of a known"),
                  HasSubstr("cut.jpg: truncated"), HasSubstr("missing.png: cannot open: No such")));
}

TEST(Verify, FindsTheSameWithAnyNumberOfThreads) {
  const TemporaryFolder folder;
  for (int i = 0; i < 300; ++i) {
    const std::string name = fmt::format("{:03}.png", i);
    if (i % 3 == 0) {
      put_file(folder / name, name);
    } else {
      put_image(folder / name);
    }
  }
  const Dataset dataset = load_images(folder.path());
  const auto found = unreadable_of(dataset, 1);
  EXPECT_EQ(found.size(), 100u);
  EXPECT_EQ(found, unreadable_of(dataset, 7));
}

TEST(Verify, APipeNeitherHangsNorCounts) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe.png").c_str(), 0600), 0);
  put_image(folder / "good.png");
  put_file(folder / "m.csv", "path,label\npipe.png,\ngood.png,\n");
  const Dataset dataset = load_manifest(folder / "m.csv");
  EXPECT_THAT(unreadable_of(dataset), ElementsAre("pipe.png: a named pipe, not a file"));
  EXPECT_THAT(find_duplicates(dataset).unreadable, ElementsAre(HasSubstr("pipe.png")));
  EXPECT_THAT(check_dataset(dataset, false).notes, Contains("test set: none"));
}

TEST(Verify, EqualFilesUnderDifferentClassesAreAProblem) {
  const TemporaryFolder folder;
  put_image(folder / "a/1.png", "same");
  put_image(folder / "a/2.png", "same");
  EXPECT_THAT(check_dataset(load_folders(folder.path(), {}), false).problems, IsEmpty());
  put_image(folder / "b/3.png", "same");
  EXPECT_THAT(check_dataset(load_folders(folder.path(), {}), false).problems,
              ElementsAre(HasSubstr("different classes")));
}

TEST(Verify, EmptyClassFoldersAndClassesOfOneImageAreSaid) {
  const TemporaryFolder folder;
  put_image(folder / "a/1.png", "one");
  put_image(folder / "b/2.png", "two");
  put_image(folder / "b/3.png", "three");
  create_folders(folder / "c");
  const Dataset dataset = load_folders(folder.path(), {});
  EXPECT_THAT(dataset.classes, ElementsAre("a", "b"));
  EXPECT_THAT(dataset.warnings,
              ElementsAre(AllOf(HasSubstr("1 folders hold no image"), HasSubstr("/c"))));
  EXPECT_THAT(check_labels(dataset).notes,
              ElementsAre(HasSubstr("1 classes have a single labelled image: a")));
}

TEST(Dataset, AnOldClassWithoutLabelledImagesIsOldNoMore) {
  Dataset dataset;
  dataset.classes = {"zebra", "owl", "cat", "moon"};
  dataset.old_classes = 3;
  const auto labelled = SampleSet::kLabelled, unlabelled = SampleSet::kUnlabelled;
  dataset.samples = {{0, 0, 0, labelled},
                     {1, 2, 2, labelled},
                     {2, -1, 1, unlabelled},
                     {3, -1, 3, unlabelled},
                     {4, -1, 2, unlabelled}};
  EXPECT_THAT(dataset.drop_empty_old_classes(), ElementsAre("owl"));
  EXPECT_THAT(dataset.classes, ElementsAre("zebra", "cat", "owl", "moon"));
  EXPECT_EQ(dataset.old_classes, 2u);
  std::vector<std::int32_t> truths;
  for (const Sample& sample : dataset.samples) truths.push_back(sample.truth);
  EXPECT_THAT(truths, ElementsAre(0, 1, 2, 3, 1));
  EXPECT_THAT(dataset.drop_empty_old_classes(), IsEmpty());
}

TEST(CalibrationSet, TakesAShareOfClassesWithEightLabelsOrMore) {
  const auto dataset_of = [](const std::vector<int>& labels_of_class) {
    Dataset dataset;
    for (std::size_t label = 0; label < labels_of_class.size(); ++label) {
      dataset.classes.push_back(std::string(1, static_cast<char>('a' + label)));
      for (int i = 0; i < labels_of_class[label]; ++i) {
        const auto number = static_cast<std::int32_t>(label);
        dataset.samples.push_back({static_cast<std::uint32_t>(dataset.samples.size()), number,
                                   number, SampleSet::kLabelled});
      }
    }
    dataset.old_classes = dataset.classes.size();
    return dataset;
  };
  const auto kept_out = [](const Dataset& dataset) {
    std::vector<std::uint32_t> sources;
    for (const Sample& sample : dataset.samples) {
      if (sample.set != SampleSet::kCalibration) continue;
      EXPECT_EQ(sample.label, kNoClass);
      EXPECT_GE(sample.truth, 1);  // none of the class with seven labels
      sources.push_back(sample.source);
    }
    return sources;
  };
  Dataset dataset = dataset_of({7, 8, 30});
  EXPECT_EQ(keep_out_for_calibration(dataset, 0.1, 5), 1u + 3u);
  EXPECT_EQ(kept_out(dataset).size(), 4u);
  EXPECT_EQ(dataset.samples.back().set, SampleSet::kCalibration);
  Dataset again = dataset_of({7, 8, 30}), other = again, none = again;
  keep_out_for_calibration(again, 0.1, 5);
  EXPECT_EQ(kept_out(again), kept_out(dataset));
  keep_out_for_calibration(other, 0.1, 6);
  EXPECT_NE(kept_out(other), kept_out(dataset));
  EXPECT_EQ(keep_out_for_calibration(none, 0, 5), 0u);
}

TEST(BadImagePolicy, UnderstandsSharesAndNumbers) {
  EXPECT_EQ(BadImagePolicy::parse("skip", "1%").allowed(300), 3u);
  EXPECT_EQ(BadImagePolicy::parse("skip", "1%").allowed(99), 0u);
  EXPECT_EQ(BadImagePolicy::parse("skip", "0.5%").allowed(1000), 5u);
  EXPECT_EQ(BadImagePolicy::parse("skip", "100%").allowed(7), 7u);
  EXPECT_EQ(BadImagePolicy::parse("skip", "20").allowed(5), 20u);
  EXPECT_EQ(BadImagePolicy::parse("skip", "auto").allowed(40), 5u);
  EXPECT_EQ(BadImagePolicy::parse("skip", "auto").allowed(2000), 20u);
  EXPECT_EQ(BadImagePolicy::parse("fail", "20").allowed(5), 0u);
  for (const char* bad : {"", "%", "-1%", "101%", "1.5", "-1", "one", "nan%"}) {
    EXPECT_THROW(BadImagePolicy::parse("skip", bad), UsageError) << bad;
  }
  EXPECT_THROW(BadImagePolicy::parse("ignore", "1%"), UsageError);
}

TEST(SkippedFiles, CollectFromThreadsAndAreWrittenInOrder) {
  const TemporaryFolder folder;
  SourceTable sources;
  for (int i = 0; i < 400; ++i) sources.add_path(folder / fmt::format("i{}.png", i));
  SkippedFiles skipped(BadImagePolicy::parse("skip", "400"), 400);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 99; i >= 0; --i) skipped.add(sources, 4 * i + t, "cut short, \"here\"");
      });
    }
  }
  EXPECT_EQ(skipped.count(), 400u);
  skipped.write(folder / "skipped.csv", sources);
  const CsvTable table = CsvTable::read(folder / "skipped.csv");
  EXPECT_THAT(table.header(), ElementsAre("path", "reason"));
  ASSERT_EQ(table.rows().size(), 400u);
  EXPECT_THAT(table.rows()[17].fields, ElementsAre("i17.png", "cut short, \"here\""));
}

TEST(SkippedFiles, BeyondTheLimitAllAreNamedWithTheirReasons) {
  SourceTable sources;
  for (int i = 0; i < 3; ++i) sources.add_path(fmt::format("folder/{}.png", i));
  SkippedFiles skipped(BadImagePolicy::parse("skip", "2"), 100);
  skipped.add(sources, 0, "bad");
  skipped.add(sources, 1, "bad");
  skipped.check(sources);
  skipped.add(sources, 2, "cut short");
  try {
    skipped.check(sources, "the rest is safe");
    FAIL() << "went on";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("3 of 100"), HasSubstr("the rest is safe")));
    EXPECT_THAT(error.hint(), AllOf(HasSubstr("folder/0.png: bad"), HasSubstr("folder/1.png: bad"),
                                    HasSubstr("folder/2.png: cut short")));
  }
  SkippedFiles strict(BadImagePolicy::parse("fail", "50%"), 100);
  EXPECT_THROW(strict.add(sources, 0, "bad"), DataError);
}

TEST(ImageSet, OpensFoldersAndNamedSets) {
  const TemporaryFolder folder;
  put_image(folder / "textures/dotted/a.png");
  const ImageSet plain = open_image_set((folder / "textures/").string(), Logger());
  EXPECT_EQ(plain.name, "textures");
  EXPECT_EQ(plain.sources.size(), 1u);
  EXPECT_THAT(plain.class_ids, IsEmpty());
  EXPECT_FALSE(plain.is_benchmark);

  make_cifar10_binary(folder.path());
  const ImageSet cifar = open_image_set("cifar10:" + folder.path().string(), Logger());
  EXPECT_EQ(cifar.sources.size(), 10u);
  EXPECT_EQ(cifar.class_ids.at(4), 4);

  std::filesystem::copy_file(test_file("svhn.mat"), folder / "test_32x32.mat");
  EXPECT_THAT(open_image_set("svhn:" + folder.path().string(), Logger()).class_ids,
              ElementsAre(0, 7, 1));

  const std::vector<std::uint8_t> pixels(5 * 12);
  const std::vector<std::int32_t> labels = {5, 6, 7, 8, 9};
  const auto root = folder / "with:colon";
  std::filesystem::create_directory(root);
  write_npy(root / "snow.npy",
            {"", ElementType::kUint8, {5, 2, 2, 3}, std::as_bytes(std::span(pixels))});
  write_npy(root / "labels.npy", {"", ElementType::kInt32, {5}, std::as_bytes(std::span(labels))});
  const ImageSet snow = open_image_set("cifar10-c:" + root.string() + ":snow:2", Logger());
  EXPECT_EQ(snow.name, "snow-2");
  EXPECT_THAT(snow.class_ids, ElementsAre(6));
}

TEST(ImageSet, OfADatasetHasItsTestImages) {
  const TemporaryFolder folder;
  make_cub(folder.path(), 3);
  const ImageSet cub = open_image_set("cub:" + folder.path().string(), Logger());
  const Dataset whole = load_benchmark("cub", folder.path());
  ASSERT_EQ(cub.sources.size(), whole.count(SampleSet::kTest));
  EXPECT_EQ(cub.class_ids.size(), cub.sources.size());
  EXPECT_TRUE(cub.is_benchmark);
  std::set<std::string> test;
  for (const Sample& sample : whole.samples)
    if (sample.set == SampleSet::kTest) test.insert(whole.sources.path(sample.source));
  for (std::uint32_t i = 0; i < cub.sources.size(); ++i)
    EXPECT_TRUE(test.contains(cub.sources.path(i))) << cub.sources.path(i);
}

TEST(ImageSet, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(open_image_set("/no/such/folder", Logger()), DataError);
  EXPECT_THROW(open_image_set("mnist:/tmp", Logger()), DataError);
  for (const char* bad : {"cifar10-c:root", "cifar10-c::", "cifar10-c:r:snow:6",
                          "cifar10-c:r:snow:x", "cifar10-c:r:hail:1", "cifar10-c::1"}) {
    EXPECT_THROW(open_image_set(bad, Logger()), UsageError) << bad;
  }
}

}  // namespace
}  // namespace protogcd
