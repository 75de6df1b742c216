// Unlabelled images that are unlike all that is labelled, on features made up for it.
#include "protogcd/discovery/foreign.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/random.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kWidth = 32, kOld = 6, kClasses = 9, kStray = -1;

/// Images of classes have the first direction in common, strays one of their own each.
at::Tensor features_of(const std::vector<std::int64_t>& classes, std::uint64_t seed) {
  RandomStream random({.seed = seed});
  at::Tensor rows = at::zeros({static_cast<std::int64_t>(classes.size()), kWidth});
  auto rows_of = rows.accessor<float, 2>();
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    for (std::int64_t d = 0; d < kWidth; ++d)
      rows_of[i][d] = 0.01F * static_cast<float>(random.below(20));
    const std::int64_t c = classes[static_cast<std::size_t>(i)];
    if (c == kStray) {
      rows_of[i][kWidth / 2 + static_cast<std::int64_t>(random.below(kWidth / 2))] += 2;
    } else {
      rows_of[i][0] += 1;
      rows_of[i][1 + c] += 1;
    }
  }
  return unit_rows(rows);
}

struct Collection {
  at::Tensor labelled, labels, unlabelled;
  std::vector<std::uint32_t> strays;
};

/// 30 labelled images of each old class; every `period`th unlabelled one is a stray.
Collection collection(std::int64_t old_classes, std::size_t unlabelled, std::size_t period) {
  std::vector<std::int64_t> labels, classes;
  for (std::int64_t i = 0; i < 30 * old_classes; ++i) labels.push_back(i % old_classes);
  Collection made;
  for (std::size_t i = 0; i < unlabelled; ++i) {
    const bool is_stray = i % period == 1;
    if (is_stray) made.strays.push_back(static_cast<std::uint32_t>(i));
    classes.push_back(is_stray ? kStray : static_cast<std::int64_t>(i) % kClasses);
  }
  made.labelled = features_of(labels, 1);
  made.labels = at::tensor(at::ArrayRef<std::int64_t>(labels));
  made.unlabelled = features_of(classes, 2);
  return made;
}

ForeignImages found_in(const Collection& made) {
  return find_foreign(made.labelled, made.labels, made.unlabelled);
}

TEST(FindForeign, FindsStraysAndNoImageOfAClass) {
  const Collection made = collection(kOld, 5000, 20);  // several blocks of rows
  const ForeignImages found = found_in(made);
  EXPECT_EQ(found.places, made.strays);
  EXPECT_THAT(found.why_kept, IsEmpty());
  ASSERT_EQ(found.similarity.size(), found.places.size());
  for (const std::size_t i : {std::size_t{0}, found.places.size() - 1}) {
    const at::Tensor cosines = made.labelled.mv(made.unlabelled[found.places[i]]);
    EXPECT_NEAR(found.similarity[i],
                std::get<0>(cosines.sort(0, true)).slice(0, 0, 5).mean().item<double>(), 1e-6);
  }
}

TEST(FindForeign, AsFewAsChanceMakesAreLeftAlone) {
  EXPECT_THAT(found_in(collection(kOld, 1000, 40)).places, IsEmpty());
}

TEST(FindForeign, TooManyToBeStraysAreKeptAndThatIsSaid) {
  const ForeignImages found = found_in(collection(kOld, 1000, 4));
  EXPECT_THAT(found.places, IsEmpty());
  EXPECT_THAT(found.why_kept, HasSubstr("25% of the unlabelled images"));
}

TEST(FindForeign, ThreeClassesDoNotSayHowFarClassesAre) {
  EXPECT_THAT(found_in(collection(3, 1000, 20)).places, IsEmpty());
  EXPECT_THAT(found_in(collection(4, 1000, 20)).places, ::testing::SizeIs(::testing::Ge(50u)));
}

TEST(ForeignImages, AreReadAsTheyWereWrittenAndCheckedAgainstTheImages) {
  const ForeignImages written{.places = {1, 4}, .similarity = {0.25, 0.5}, .why_kept = "many"};
  const ForeignImages read = ForeignImages::from_json(written.to_json());
  EXPECT_EQ(read.places, written.places);
  EXPECT_EQ(read.similarity, written.similarity);
  EXPECT_EQ(read.why_kept, written.why_kept);
  EXPECT_EQ(read.checked(5, "file").places, written.places);
  const ForeignImages wrong[] = {{.places = {1, 5}, .similarity = {0, 0}},
                                 {.places = {4, 1}, .similarity = {0, 0}},
                                 {.places = {1, 1}, .similarity = {0, 0}},
                                 {.places = {1, 4}, .similarity = {0}}};
  for (const ForeignImages& one : wrong) EXPECT_THROW(one.checked(5, "file"), DataError);
}

}  // namespace
}  // namespace protogcd
