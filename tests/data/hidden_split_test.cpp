#include "protogcd/data/hidden_split.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

/// So many labelled, unlabelled and calibration samples of each of some old classes.
Dataset dataset_of(std::size_t classes, int labelled, int unlabelled = 3, int calibration = 0) {
  Dataset dataset;
  dataset.old_classes = classes;
  std::uint32_t source = 0;
  const auto add = [&](int count, SampleSet set) {
    for (int i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < classes; ++c) {  // classes in turn, as a manifest may have them
        const auto label = static_cast<std::int32_t>(c);
        dataset.samples.push_back({.source = source++,
                                   .label = set == SampleSet::kLabelled ? label : kNoClass,
                                   .truth = label,
                                   .set = set});
      }
    }
  };
  add(labelled, SampleSet::kLabelled);
  add(unlabelled, SampleSet::kUnlabelled);
  add(calibration, SampleSet::kCalibration);
  for (std::size_t c = 0; c < classes; ++c) dataset.classes.push_back("class");
  return dataset;
}

std::set<std::size_t> hidden_classes(const HiddenSplit& split) {
  std::set<std::size_t> hidden;
  for (std::size_t c = 0; c < split.numbers.size(); ++c)
    if (static_cast<std::size_t>(split.numbers[c]) >= split.old_classes) hidden.insert(c);
  return hidden;
}

TEST(HiddenSplit, LosesNoImageAndNumbersTheKeptClassesFromZero) {
  for (const std::size_t classes : {4, 5, 10, 17}) {
    const Dataset dataset = dataset_of(classes, 12, 3, 1);
    const HiddenSplit split = hide_classes(dataset, 3, 0);
    std::vector<std::uint32_t> all = split.kept;
    all.insert(all.end(), split.hidden.begin(), split.hidden.end());
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), 12 * classes);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);

    const std::set<std::int32_t> labels(split.labels.begin(), split.labels.end());
    EXPECT_EQ(labels.size(), split.old_classes) << "each kept class has labels";
    EXPECT_EQ(*labels.begin(), 0);
    EXPECT_EQ(*labels.rbegin(), static_cast<std::int32_t>(split.old_classes) - 1);
    std::vector<std::int32_t> numbers = split.numbers;
    std::ranges::sort(numbers);
    for (std::size_t c = 0; c < classes; ++c) EXPECT_EQ(numbers[c], static_cast<std::int32_t>(c));
    ASSERT_EQ(split.labels.size(), split.kept.size());
    for (std::size_t i = 0; i < split.kept.size(); ++i) {
      const auto given = static_cast<std::size_t>(dataset.samples[split.kept[i]].label);
      EXPECT_EQ(split.labels[i], split.numbers[given]);
    }
  }
}

TEST(HiddenSplit, HidesAQuarterOfTheClassesWithAllTheirImages) {
  for (const auto& [classes, expected] : {std::pair(4, 1), {5, 1}, {10, 3}, {100, 25}}) {
    const Dataset dataset = dataset_of(static_cast<std::size_t>(classes), 9, 3, 1);
    const HiddenSplit split = hide_classes(dataset, 0, 0);
    EXPECT_EQ(split.hidden_classes(), static_cast<std::size_t>(expected)) << classes;
    EXPECT_EQ(split.hidden.size(), static_cast<std::size_t>(9 * expected))
        << "kept classes have images in the calibration set";
    const std::set<std::size_t> hidden = hidden_classes(split);
    for (const std::uint32_t place : split.hidden)
      EXPECT_TRUE(hidden.contains(static_cast<std::size_t>(dataset.samples[place].label)));
  }
}

TEST(HiddenSplit, TwoDrawsHideDifferentClasses) {
  for (const std::size_t classes : {4, 6, 7, 30}) {
    const Dataset dataset = dataset_of(classes, 9);
    const std::set<std::size_t> first = hidden_classes(hide_classes(dataset, 5, 0)),
                                second = hidden_classes(hide_classes(dataset, 5, 1));
    EXPECT_EQ(first.size(), second.size());
    for (const std::size_t c : first) EXPECT_FALSE(second.contains(c)) << classes;
  }
}

TEST(HiddenSplit, WithoutCalibrationImagesATenthOfEachKeptClassIsHidden) {
  const Dataset dataset = dataset_of(8, 20);
  const HiddenSplit split = hide_classes(dataset, 1, 0);
  std::vector<int> hidden(8);
  for (const std::uint32_t place : split.hidden)
    ++hidden[static_cast<std::size_t>(dataset.samples[place].label)];
  const std::set<std::size_t> hidden_whole = hidden_classes(split);
  for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(hidden[c], hidden_whole.contains(c) ? 20 : 2);
}

TEST(HiddenSplit, AClassOfOneImageKeepsItUnlessItIsHidden) {
  const HiddenSplit split = hide_classes(dataset_of(8, 1), 1, 0);
  EXPECT_EQ(split.hidden.size(), 2U);
  EXPECT_EQ(split.kept.size(), 6U);
}

TEST(HiddenSplit, DoesNotDependOnTheTruthOfUnlabelledImages) {
  Dataset dataset = dataset_of(10, 9);
  const HiddenSplit before = hide_classes(dataset, 2, 1);
  for (Sample& sample : dataset.samples)
    if (sample.set == SampleSet::kUnlabelled) sample.truth = 9 - sample.truth;
  const HiddenSplit after = hide_classes(dataset, 2, 1);
  EXPECT_EQ(before.hidden, after.hidden);
  EXPECT_EQ(before.numbers, after.numbers);
}

TEST(HiddenSplit, ClassesWithoutLabelledImagesAreNeitherCountedNorHidden) {
  Dataset dataset = dataset_of(6, 9);
  std::erase_if(dataset.samples, [](const Sample& sample) {
    return sample.set == SampleSet::kLabelled && sample.label >= 4;
  });
  EXPECT_EQ(labelled_class_count(dataset), 4U);
  for (std::size_t draw = 0; draw < 2; ++draw)
    for (const std::size_t c : hidden_classes(hide_classes(dataset, 0, draw))) EXPECT_LT(c, 4U);
  std::erase_if(dataset.samples, [](const Sample& sample) { return sample.label == 3; });
  EXPECT_THROW(hide_classes(dataset, 0, 0), InternalError);
}

}  // namespace
}  // namespace protogcd
