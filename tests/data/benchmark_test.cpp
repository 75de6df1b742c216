#include "protogcd/data/benchmark.h"
#include "protogcd/core/text.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/numpy_random.h"
#include "protogcd/core/sha256.h"
#include "protogcd/data/class_split.h"
#include "protogcd/data/ssb_splits.h"
#include "tests/data/layouts.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string hash_of(const std::vector<std::size_t>& ids) {
  return sha256_hex(fmt::format("{}", join(ids, ",")));
}

TEST(ClassLists, ImageNet100IsThePublishedOne) {
  const auto ids = imagenet100_ids();
  ASSERT_EQ(ids.size(), 100u);
  EXPECT_EQ(hash_of(ids),
            sha256_hex("1,14,27,31,45,55,77,103,108,141,142,175,196,202,230,231,236,239,247,251,"
                       "252,261,262,264,267,270,272,279,295,298,299,306,310,311,316,319,331,366,"
                       "367,386,389,408,412,413,432,452,456,481,485,494,496,497,501,531,553,558,"
                       "568,569,576,578,582,587,601,614,635,638,643,644,654,672,693,698,706,710,"
                       "736,738,740,760,783,784,788,790,796,819,823,859,862,874,883,906,909,918,"
                       "923,926,957,971,982,987,993,996"));
}

TEST(ClassLists, Herbarium19IsThePublishedOne) {
  EXPECT_EQ(hash_of(herbarium19_old_ids()),
            "3c88e8b90476cbd9ced2fb71531820c81fe5982e3dcbad9f3b00b09d9cd38768");
}

TEST(ClassLists, FineGrainedSplitsCoverEveryClassOnce) {
  for (const auto& [split, classes] :
       {std::pair{&kCubSplit, 200}, {&kScarsSplit, 196}, {&kAircraftSplit, 100}}) {
    std::set<int> seen;
    std::size_t total = 0;
    for (const auto& part : {split->known, split->hard, split->medium, split->easy}) {
      seen.insert(part.begin(), part.end());
      total += part.size();
    }
    EXPECT_EQ(total, static_cast<std::size_t>(classes));
    EXPECT_EQ(seen.size(), total);
    EXPECT_EQ(*seen.rbegin(), classes - 1);
    EXPECT_EQ(split->known.size(), total / 2);
  }
  EXPECT_EQ(kCubSplit.hard[0], 29);
  EXPECT_EQ(kScarsSplit.hard.size(), 7u);
  EXPECT_EQ(kAircraftSplit.easy.back(), 89);
}

/// The protocol on made-up items: sizes as published, labels from the class lists.
RawBenchmark made_up(std::size_t per_class, std::size_t classes, std::size_t old_classes,
                     bool drawn_order) {
  RawBenchmark raw;
  const std::uint32_t folder = raw.sources.add_folder("made-up");
  for (std::size_t id = 0; id < classes; ++id) {
    raw.class_names.push_back(fmt::format("c{}", id));
    (id < old_classes ? raw.old_ids : raw.new_ids).push_back(id);
  }
  for (std::size_t i = 0; i < per_class * classes; ++i) {
    raw.train.push_back({raw.sources.add_file(folder, fmt::format("{}.jpg", i)),
                         static_cast<std::int32_t>(i % classes)});
  }
  raw.drawn_order = drawn_order;
  return raw;
}

TEST(Split, HasThePublishedSizesAndOrder) {
  const Dataset cifar10 = split_benchmark(made_up(5000, 10, 5, true), "cifar10");
  EXPECT_EQ(cifar10.count(SampleSet::kLabelled), 12500u);
  EXPECT_EQ(cifar10.count(SampleSet::kUnlabelled), 37500u);
  // Item 14149 of the old-class images: five of every ten images are old.
  EXPECT_EQ(cifar10.samples[0].source, 14149u / 5 * 10 + 14149 % 5);
  const Dataset cifar100 = split_benchmark(made_up(500, 100, 80, true), "cifar100");
  EXPECT_EQ(cifar100.count(SampleSet::kLabelled), 20000u);
  EXPECT_EQ(cifar100.count(SampleSet::kUnlabelled), 30000u);
}

TEST(Split, NaturalOrderDrawsTheSameImagesSorted) {
  const Dataset drawn = split_benchmark(made_up(100, 10, 5, true), "x");
  const Dataset natural = split_benchmark(made_up(100, 10, 5, false), "x");
  std::vector<std::uint32_t> a, b;
  for (std::size_t i = 0; i < 250; ++i) {
    a.push_back(drawn.samples[i].source);
    b.push_back(natural.samples[i].source);
  }
  EXPECT_FALSE(std::ranges::is_sorted(a));
  EXPECT_TRUE(std::ranges::is_sorted(b));
  std::ranges::sort(a);
  EXPECT_EQ(a, b);
}

TEST(Split, EveryTrainingImageIsInExactlyOneSetAndOnlyOldOnesAreLabelled) {
  const Dataset dataset = split_benchmark(made_up(31, 10, 5, false), "x");
  std::set<std::uint32_t> sources;
  for (const auto& sample : dataset.samples) {
    EXPECT_TRUE(sources.insert(sample.source).second);
    EXPECT_EQ(sample.label >= 0, sample.set == SampleSet::kLabelled);
    if (sample.label >= 0) {
      EXPECT_TRUE(dataset.is_old(sample.label));
      EXPECT_EQ(sample.label, sample.truth);
    }
    EXPECT_EQ(dataset.class_name(sample.truth), fmt::format("c{}", sample.source % 10));
  }
  EXPECT_EQ(sources.size(), 310u);
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 77u) << "int(155 / 2)";
}

TEST(Split, TheFirstClassesOfTheOrderAreOldWhenSoManyAreAskedFor) {
  RawBenchmark raw = made_up(10, 20, 8, false);
  std::ranges::reverse(raw.old_ids);  // the published order, not that of the numbers
  RawBenchmark more = raw;
  choose_old_classes(raw, 3);
  const Dataset few = split_benchmark(std::move(raw), "few");
  EXPECT_EQ(few.old_classes, 3u);
  EXPECT_THAT(std::vector(few.classes.begin(), few.classes.begin() + 4),
              ElementsAre("c7", "c6", "c5", "c4"));
  EXPECT_EQ(few.count(SampleSet::kLabelled), 15u);
  EXPECT_EQ(few.count(SampleSet::kUnlabelled), 185u);
  choose_old_classes(more, 19);
  EXPECT_EQ(split_benchmark(std::move(more), "more").count(SampleSet::kLabelled), 95u);
}

TEST(Split, ThePublishedNumberOfOldClassesGivesThePublishedSplit) {
  RawBenchmark raw = made_up(6, 10, 4, true);
  RawBenchmark same = raw;
  choose_old_classes(same, 4);
  const Dataset a = split_benchmark(std::move(raw), "a"), b = split_benchmark(std::move(same), "b");
  EXPECT_EQ(a.classes, b.classes);
  for (std::size_t i = 0; i < a.samples.size(); ++i)
    ASSERT_EQ(a.samples[i].source, b.samples[i].source);
}

TEST(Split, AnotherShareOfTheImagesCanBeLabelled) {
  const Dataset dataset = split_benchmark(made_up(31, 10, 5, true), "x", 0.1);
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 15u) << "int(155 * 0.1)";
  EXPECT_EQ(dataset.samples.size(), 310u);
  // The same draw, cut short: what is labelled with few labels is labelled with more.
  const Dataset more = split_benchmark(made_up(31, 10, 5, true), "x");
  for (std::size_t i = 0; i < 15; ++i)
    EXPECT_EQ(dataset.samples[i].source, more.samples[i].source) << i;
}

TEST(Split, AnotherShareThatLeavesAnOldClassWithoutLabelsIsRefused) {
  try {
    split_benchmark(made_up(4, 10, 5, true), "x", 0.1);
    FAIL() << "two labels for five classes";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("labelled_share 0.1: no image of class 'c"));
    EXPECT_THAT(error.hint(), HasSubstr("a larger labelled_share"));
  }
  EXPECT_NO_THROW(split_benchmark(made_up(1, 10, 5, true), "x")) << "the published draw";
}

TEST(Split, NaturalOrderIsForDatasetsWithAnSsbSplit) {
  const TemporaryFolder folder;
  for (const char* name : {"cifar10", "cifar100", "imagenet100", "herbarium19"}) {
    EXPECT_THAT(
        message_of([&] { load_benchmark(name, folder.path(), {.order = ClassOrder::kNatural}); }),
        AllOf(HasSubstr("class_order natural"), HasSubstr(name), HasSubstr("cub, scars")));
  }
  make_aircraft(folder.path());
  const Dataset planes = load_benchmark("aircraft", folder.path(), {.order = ClassOrder::kNatural});
  EXPECT_THAT(planes.classes.front(), HasSubstr("Plane 0/B"));
  EXPECT_THAT(planes.classes.at(6), HasSubstr("Plane 14/B")) << "in byte order";
}

TEST(Split, InNaturalOrderTheFirstNumbersAreOld) {
  RawBenchmark raw = made_up(10, 6, 3, false);
  raw.old_ids = {5, 0, 3};
  raw.new_ids = {4, 1, 2};
  order_naturally(raw);
  EXPECT_THAT(raw.old_ids, ElementsAre(0, 1, 2));
  EXPECT_THAT(raw.new_ids, ElementsAre(3, 4, 5));
}

TEST(Split, AsManyOldClassesAsThereAreNotIsRefused) {
  RawBenchmark raw = made_up(2, 5, 2, false);
  EXPECT_THAT(message_of([&] { choose_old_classes(raw, 6); }),
              HasSubstr("old_classes 6: there are 5 known classes"));
  EXPECT_THROW(choose_old_classes(raw, 0), UsageError);
}

TEST(Split, AMillionImagesSplitInAMoment) {
  const Dataset dataset = split_benchmark(made_up(1000, 1000, 500, true), "million");
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 250'000u);
  EXPECT_EQ(dataset.samples.size(), 1'000'000u);
}

TEST(Cifar10, SplitsRecordsOfItsFiles) {
  const TemporaryFolder folder;
  make_cifar10_binary(folder.path());
  const Dataset dataset = load_benchmark("cifar10", folder.path());
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 12u);
  EXPECT_EQ(dataset.count(SampleSet::kUnlabelled), 38u);
  EXPECT_EQ(dataset.count(SampleSet::kTest), 10u);
  const Sample& last = dataset.samples.back();
  EXPECT_THAT(dataset.sources.path(last.source), ::testing::EndsWith("test_batch.bin#9"));
  EXPECT_EQ(last.truth, 9);
  EXPECT_EQ(dataset.sources.load_record(last.source).at(0, 0)[0], 9);
}

TEST(Cub, LabelsFollowTheListsHardMediumEasy) {
  const TemporaryFolder folder;
  make_cub(folder.path(), 3);
  const Dataset dataset = load_benchmark("cub", folder.path());
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 100u);
  EXPECT_EQ(dataset.count(SampleSet::kUnlabelled), 300u);
  EXPECT_EQ(dataset.count(SampleSet::kTest), 200u);
  EXPECT_EQ(dataset.classes[0], "151.Bird_151");
  EXPECT_EQ(dataset.classes[100], "030.Bird_30") << "the first hard class";
  EXPECT_EQ(dataset.classes[199], "139.Bird_139") << "the last easy class";
  for (const auto& sample : dataset.samples) {
    EXPECT_THAT(dataset.sources.path(sample.source),
                HasSubstr(fmt::format("/{}/", dataset.class_name(sample.truth))));
  }
}

TEST(Cub, SaysWhatIsMissingAndWhere) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { load_benchmark("cub", folder / "none"); }), HasSubstr("none"));
  EXPECT_THAT(message_of([&] { load_benchmark("cub", folder.path()); }),
              HasSubstr("CUB_200_2011/images.txt: no such file"));
  make_cub(folder.path(), 1);
  const auto base = folder / "CUB_200_2011";
  std::filesystem::remove(base / "images/007.Bird_7/0.jpg");
  EXPECT_THAT(message_of([&] { load_benchmark("cub", folder.path()); }),
              AllOf(HasSubstr("1 of the training images"), HasSubstr("007.Bird_7/0.jpg")));
  put_file(base / "image_class_labels.txt", "1 201\n");
  EXPECT_THAT(message_of([&] { load_benchmark("cub", folder.path()); }),
              HasSubstr("image_class_labels.txt 1"));
  put_file(base / "image_class_labels.txt", "1 a\nx\n");
  EXPECT_THAT(message_of([&] { load_benchmark("cub", folder.path()); }),
              HasSubstr("image_class_labels.txt:2: 'x'"));
}

TEST(Cub, ATestSetOfWhichNoFileIsThereIsNone) {
  const TemporaryFolder folder;
  make_cub(folder.path(), 1);
  for (int id = 3; id <= 200; id += 3) {
    std::filesystem::remove(folder /
                            fmt::format("CUB_200_2011/images/{:03}.Bird_{}/0.jpg", id, id));
  }
  const Dataset dataset = load_benchmark("cub", folder.path());
  EXPECT_EQ(dataset.count(SampleSet::kTest), 0u);
  EXPECT_EQ(dataset.count(SampleSet::kLabelled) + dataset.count(SampleSet::kUnlabelled), 134u);
}

TEST(Scars, ReadsAnnotationsByFieldNameAndChecksThem) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { load_benchmark("scars", folder.path()); }),
              HasSubstr("devkit/cars_train_annos.mat: no such file"));
  create_folders(folder / "devkit");
  std::filesystem::copy_file(test_file("cars.mat"), folder / "devkit/cars_train_annos.mat");
  EXPECT_THAT(message_of([&] { load_benchmark("scars", folder.path()); }),
              AllOf(HasSubstr("3 of the training images"), HasSubstr("cars_train/00001.jpg")));
  for (int i = 1; i <= 3; ++i) put_image(folder / fmt::format("cars_train/{:05}.jpg", i));
  Dataset dataset = load_benchmark("scars", folder.path());
  EXPECT_EQ(dataset.count(SampleSet::kTest), 0u);
  // Classes 14, 3 and 196 of the file are ids 13 (easy), 2 (known), 195 (known).
  std::vector<std::string> names;
  for (const auto& sample : dataset.samples) {
    names.emplace_back(dataset.class_name(sample.truth));
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("car-014", "car-003", "car-196"));
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 1u);
  std::filesystem::copy_file(test_file("cars.mat"),
                             folder / "devkit/cars_test_annos_withlabels.mat");
  put_image(folder / "cars_test/00001.jpg");
  EXPECT_THAT(message_of([&] { load_benchmark("scars", folder.path()); }),
              HasSubstr("2 of the test images"));
  put_file(folder / "devkit/cars_train_annos.mat", "not matlab");
  EXPECT_THAT(message_of([&] { load_benchmark("scars", folder.path()); }),
              HasSubstr("cars_train_annos.mat: not a"));
}

TEST(Aircraft, ClassesAreVariantsInByteOrder) {
  const TemporaryFolder folder;
  make_aircraft(folder.path());
  const Dataset dataset = load_benchmark("aircraft", folder.path());
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 50u);
  EXPECT_EQ(dataset.count(SampleSet::kUnlabelled), 150u);
  EXPECT_EQ(dataset.count(SampleSet::kTest), 1u);
  // '/' sorts before digits, so that "Plane 1/B" comes before "Plane 10/B".
  EXPECT_THAT((std::vector<std::string>{dataset.classes.begin(), dataset.classes.begin() + 4}),
              ElementsAre("Plane 0/B", "Plane 1/B", "Plane 10/B", "Plane 11/B"));
  EXPECT_EQ(dataset.class_name(dataset.samples.back().truth), "Plane 7/B");
  put_file(folder / "data/images_variant_test.txt", "0009000 Zeppelin\n");
  EXPECT_THAT(message_of([&] { load_benchmark("aircraft", folder.path()); }),
              HasSubstr("variant 'Zeppelin'"));
}

TEST(ImageNet100, TakesAHundredOfTheThousandFolders) {
  const TemporaryFolder folder;
  for (int i = 0; i < 1000; ++i) {
    const auto name = fmt::format("n{:08}", 10 * i);
    std::filesystem::create_directories(folder / "train" / name);
  }
  for (const std::size_t id : imagenet100_ids()) {
    put_file(folder / fmt::format("train/n{:08}/a.JPEG", 10 * id), "a");
    put_file(folder / fmt::format("train/n{:08}/b.JPEG", 10 * id), "b");
  }
  put_file(folder / "val/n00000010/v.JPEG", "v");
  put_file(folder / "val/n00000000/not-chosen.JPEG", "v");
  const Dataset dataset = load_benchmark("imagenet100", folder.path());
  EXPECT_EQ(dataset.classes.front(), "n00000010");
  EXPECT_EQ(dataset.classes[50], "n00004960");
  EXPECT_EQ(dataset.classes.back(), "n00009960");
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 50u);
  EXPECT_EQ(dataset.count(SampleSet::kUnlabelled), 150u);
  EXPECT_EQ(dataset.count(SampleSet::kTest), 1u);
  remove_folder(folder / "train/n00000020");
  EXPECT_THAT(message_of([&] { load_benchmark("imagenet100", folder.path()); }),
              HasSubstr("999 class folders"));
}

TEST(Herbarium19, FolderNamesSortAsTextNotAsNumbers) {
  const TemporaryFolder folder;
  for (int i = 0; i < 683; ++i) {
    create_folders(folder / fmt::format("small-train/{}", i));
    put_file(folder / fmt::format("small-train/{}/a.jpg", i), "x");
  }
  const Dataset dataset = load_benchmark("herbarium19", folder.path());
  EXPECT_EQ(dataset.classes.size(), 683u);
  EXPECT_EQ(dataset.old_classes, 341u);
  std::vector<std::string> names;
  for (int i = 0; i < 683; ++i) names.push_back(std::to_string(i));
  std::ranges::sort(names);
  EXPECT_EQ(names[112], "2");
  EXPECT_EQ(dataset.classes[0], names[113]);
  EXPECT_EQ(dataset.classes[1], names[378]);
  EXPECT_EQ(dataset.count(SampleSet::kLabelled), 170u);
  EXPECT_EQ(dataset.count(SampleSet::kTest), 0u);
  put_file(folder / "small-validation/unheard-of/a.jpg", "x");
  EXPECT_THAT(message_of([&] { load_benchmark("herbarium19", folder.path()); }),
              HasSubstr("unheard-of"));
}

TEST(Benchmarks, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_THAT(message_of([&] { load_benchmark("cifar", "."); }),
              HasSubstr("did you mean 'cifar10'"));
}

}  // namespace
}  // namespace protogcd
