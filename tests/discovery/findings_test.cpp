// Near-duplicates among looks, and labels judged by images that are left out.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "protogcd/core/random.h"
#include "protogcd/discovery/label_errors.h"
#include "protogcd/discovery/near_duplicates.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

using ::testing::IsEmpty;

/// A thumbnail of random greys.
ImageLook random_look(std::uint64_t seed) {
  RandomStream random({.seed = seed});
  ImageLook look{.size = {64, 64}};
  for (std::uint8_t& value : look.thumbnail)
    value = static_cast<std::uint8_t>(20 + random.below(180));
  return look;
}

/// The same picture, dimmed, and with noise of so many levels.
ImageLook copy_of(const ImageLook& look, std::uint64_t noise, std::uint64_t seed) {
  RandomStream random({.seed = seed});
  ImageLook copy = look;
  for (std::uint8_t& value : copy.thumbnail)
    value = static_cast<std::uint8_t>(0.7 * value + 10 + static_cast<double>(random.below(noise)));
  return copy;
}

TEST(NearDuplicates, PointToTheFirstImageOfThePicture) {
  std::vector<ImageLook> looks;
  for (std::uint64_t i = 0; i < 700; ++i) looks.push_back(random_look(i));  // several blocks
  looks[690] = copy_of(looks[2], 12, 1);
  looks[691] = copy_of(looks[2], 12, 2);
  looks[10] = looks[9];  // within a block
  const auto found = near_duplicates(looks, {});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(found->at(0).image, 10u);
  EXPECT_EQ(found->at(0).first, 9u);
  EXPECT_NEAR(found->at(0).correlation, 1, 1e-6);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    EXPECT_EQ(found->at(i).image, 689 + i);
    EXPECT_EQ(found->at(i).first, 2u);
    EXPECT_LT(found->at(i).correlation, 0.9999);
  }
}

TEST(NearDuplicates, AChainOfSmallDifferencesIsNoGroup) {
  const ImageLook begin = random_look(1), end = random_look(2);
  std::vector<ImageLook> looks(31, begin);
  for (std::size_t step = 0; step < looks.size(); ++step) {
    const double share = static_cast<double>(step) / 30;
    for (std::size_t i = 0; i < begin.thumbnail.size(); ++i) {
      looks[step].thumbnail[i] = static_cast<std::uint8_t>(
          std::lround((1 - share) * begin.thumbnail[i] + share * end.thumbnail[i]));
    }
  }
  std::set<std::size_t> firsts, repeats;
  const auto found = near_duplicates(looks, {});
  ASSERT_TRUE(found);
  for (const NearDuplicate& one : *found) {
    EXPECT_GE(one.correlation, 0.98);
    firsts.insert(one.first);
    repeats.insert(one.image);
  }
  EXPECT_GE(firsts.size(), 3u);
  for (const std::size_t first : firsts) EXPECT_FALSE(repeats.contains(first)) << first;
}

TEST(NearDuplicates, PlainColoursAndTooManyImagesAreLeftOut) {
  std::vector<ImageLook> plain(20);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    plain[i].thumbnail.fill(static_cast<std::uint8_t>(10 * i));
    ++plain[i].thumbnail[0];
  }
  EXPECT_THAT(near_duplicates(plain, {}).value(), IsEmpty());
  EXPECT_THAT(near_duplicates({}, {}).value(), IsEmpty());
  EXPECT_FALSE(near_duplicates(std::vector<ImageLook>(kMostCompared + 1), {}));
}

/// Rows around the centre of their class, unit length.
struct Blobs {
  at::Tensor features;
  std::vector<std::int64_t> labels;

  Blobs(std::int64_t classes, std::int64_t per_class, double spread) {
    RandomStream random({.seed = 8});
    const auto numbers = [&](std::int64_t rows, std::int64_t columns) {
      at::Tensor values = at::empty({rows, columns}, at::kFloat);
      auto* value = values.data_ptr<float>();
      for (std::int64_t i = 0; i < rows * columns; ++i)
        value[i] = static_cast<float>(random.normal());
      return values;
    };
    const at::Tensor centres = numbers(classes, 24);
    for (std::int64_t i = 0; i < classes * per_class; ++i) labels.push_back(i % classes);
    const at::Tensor of_images = at::tensor(at::ArrayRef<std::int64_t>(labels));
    features =
        unit_rows(centres.index_select(0, of_images) + spread * numbers(classes * per_class, 24));
  }

  std::vector<std::int64_t> alone() const {
    std::vector<std::int64_t> groups(labels.size());
    std::iota(groups.begin(), groups.end(), 0);
    return groups;
  }
};

TEST(LabelErrors, FindsThePlantedOnesAndWhatTheyShouldBe) {
  const Blobs blobs(8, 30, 0.6);
  std::vector<std::int64_t> labels = blobs.labels;
  std::set<std::int64_t> planted;
  for (std::size_t i = 3; i < labels.size(); i += 20) {  // 5%
    labels[i] = (labels[i] + 1 + static_cast<std::int64_t>(i) % 7) % 8;
    planted.insert(static_cast<std::int64_t>(i));
  }
  const LabelCheck check = check_labels(blobs.features, labels, blobs.alone());
  EXPECT_GT(check.accuracy, 0.9);
  std::size_t hits = 0;
  for (const LabelError& error : check.errors) {
    if (!planted.contains(error.image)) continue;
    ++hits;
    EXPECT_EQ(error.looks_like, blobs.labels[static_cast<std::size_t>(error.image)]);
  }
  EXPECT_GE(hits, planted.size() - 1);
  EXPECT_LE(check.errors.size(), planted.size() + 1);
  EXPECT_TRUE(std::ranges::is_sorted(check.errors, std::greater(), &LabelError::margin));
}

TEST(LabelErrors, AnImageThatIsThereTwiceDoesNotSpeakForItself) {
  Blobs blobs(6, 20, 0.5);
  std::vector<std::int64_t> labels = blobs.labels, groups = blobs.alone();
  for (const std::int64_t copy : {40, 41, 42}) {  // four of one picture with the same wrong label
    blobs.features[copy].copy_(blobs.features[7]);
    groups[static_cast<std::size_t>(copy)] = 7;
    labels[static_cast<std::size_t>(copy)] = labels[7] = (blobs.labels[7] + 1) % 6;
  }
  const auto margin_of = [&](const LabelCheck& check) {
    const auto found = std::ranges::find(check.errors, 7, &LabelError::image);
    return found == check.errors.end() ? 0 : found->margin;
  };
  const double together = margin_of(check_labels(blobs.features, labels, groups));
  EXPECT_GT(together, 0.5);
  EXPECT_LT(margin_of(check_labels(blobs.features, labels, blobs.alone())), together - 0.2);
}

/// The margin of `looks_like` over the given label by a fit that is made anew without the images of
/// this group, in float64.
double margin_of_refit(const Blobs& blobs, const std::vector<std::int64_t>& labels,
                       const std::vector<std::int64_t>& groups, const LabelError& error) {
  const at::Tensor centred = (blobs.features - blobs.features.mean(0)).to(at::kDouble);
  const at::Tensor rows = at::cat({centred, at::ones({centred.size(0), 1}, at::kDouble)}, 1);
  const auto image = static_cast<std::size_t>(error.image);
  std::vector<std::int64_t> others;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] != groups[image]) others.push_back(static_cast<std::int64_t>(i));
  const at::Tensor kept = at::tensor(at::ArrayRef<std::int64_t>(others)),
                   of_others = at::tensor(at::ArrayRef<std::int64_t>(labels)).index_select(0, kept),
                   from = rows.index_select(0, kept);
  at::Tensor ridge = at::eye(rows.size(1), at::kDouble) * 0.2 * centred.square().sum(0).mean();
  ridge[-1][-1] = 0;
  const at::Tensor weights =
      at::linalg_solve(at::matmul(from.t(), from) + ridge,
                       at::matmul(from.t(), at::one_hot(of_others).to(at::kDouble)));
  const at::Tensor scores = at::matmul(rows[error.image], weights);
  return (scores[error.looks_like] - scores[labels[image]]).item<double>();
}

TEST(LabelErrors, LeavingOutByAlgebraIsLeavingOutInFact) {
  const Blobs blobs(5, 16, 0.9);
  std::vector<std::int64_t> labels = blobs.labels, groups = blobs.alone();
  for (std::size_t i = 0; i < labels.size(); i += 7) labels[i] = (labels[i] + 2) % 5;
  for (const std::size_t i : {20, 21, 35, 60}) groups[i] = 7;
  const LabelCheck check = check_labels(blobs.features, labels, groups);
  EXPECT_TRUE(std::ranges::any_of(check.errors, [&](const LabelError& error) {
    return groups[static_cast<std::size_t>(error.image)] == 7;
  }));
  ASSERT_GT(check.errors.size(), 5u);
  for (const LabelError& error : check.errors)
    EXPECT_NEAR(error.margin, margin_of_refit(blobs, labels, groups, error), 1e-4) << error.image;
}

// Taking out the one group would leave nothing to fit.
TEST(LabelErrors, OnePictureUnderTwoClassesIsNotJudged) {
  const at::Tensor same = at::ones({4, 3}, at::kFloat) / std::sqrt(3.0);
  const LabelCheck check = check_labels(same, {0, 0, 1, 1}, {0, 0, 0, 0});
  EXPECT_TRUE(std::isnan(check.accuracy));
  EXPECT_TRUE(check.errors.empty());
}

TEST(LabelErrors, SmallClassesAndSingleOnesAreNotJudged) {
  const Blobs blobs(4, 9, 0.3);
  std::vector<std::int64_t> labels = blobs.labels;
  labels[1] = 0;  // ten of class 0, eight of class 1
  labels[2] = 1;
  const LabelCheck check = check_labels(blobs.features, labels, blobs.alone());
  ASSERT_EQ(check.errors.size(), 1u);
  EXPECT_EQ(check.errors[0].image, 1);
  const std::vector<std::int64_t> same(labels.size(), 0);
  EXPECT_TRUE(std::isnan(check_labels(blobs.features, same, blobs.alone()).accuracy));
}

}  // namespace
}  // namespace protogcd
