// Which images a person is asked for: of directions that the tests choose, what stands for most.
#include "protogcd/discovery/label_queue.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kAxes = 16;

/// Images one by one: a direction near an axis, and the probabilities of the classes.
class Collection {
 public:
  Collection(std::vector<std::string> classes, std::vector<std::size_t> labelled)
      : labelled_(std::move(labelled)) {
    info_.classes = std::move(classes);
    info_.outliers.emplace().threshold = 0.5;
    predictions_.keep_posterior = true;
    predictions_.marginal.resize(info_.classes.size());
  }

  /// `turn` in radians away from the axis, towards the one after it.
  std::size_t add(std::int64_t axis, double turn, std::vector<float> chances,
                  bool is_outlier = false) {
    std::vector<float> direction(kAxes);
    direction[static_cast<std::size_t>(axis)] = static_cast<float>(std::cos(turn));
    direction[static_cast<std::size_t>((axis + 1) % kAxes)] = static_cast<float>(std::sin(turn));
    features_.insert(features_.end(), direction.begin(), direction.end());
    const auto best = std::ranges::max_element(chances);
    predictions_.labels.push_back(static_cast<std::int32_t>(best - chances.begin()));
    predictions_.confidence.push_back(*best);
    predictions_.typicality.push_back(1);
    predictions_.outlier_score.push_back(is_outlier ? 1 : 0);
    predictions_.posterior.insert(predictions_.posterior.end(), chances.begin(), chances.end());
    return predictions_.size() - 1;
  }

  std::vector<QueuedImage> queue(std::size_t most) const {
    const auto rows = static_cast<std::int64_t>(predictions_.size());
    const at::Tensor features =
        at::tensor(at::ArrayRef<float>(features_), at::kFloat).reshape({rows, kAxes});
    return label_queue(features, predictions_, info_, labelled_, most);
  }
  std::vector<std::size_t> images(std::size_t most) const {
    std::vector<std::size_t> list;
    for (const QueuedImage& one : queue(most)) list.push_back(one.image);
    return list;
  }

 private:
  ModelInfo info_;
  Predictions predictions_;
  std::vector<std::size_t> labelled_;
  std::vector<float> features_;
};

TEST(LabelQueue, AnUnsureImageComesBeforeASureOne) {
  Collection images({"a", "b"}, {9, 9});
  images.add(0, 0, {0.99f, 0.01f});
  const std::size_t unsure = images.add(4, 0, {0.51f, 0.49f});
  images.add(8, 0, {0.01f, 0.99f});
  EXPECT_EQ(images.images(1), std::vector{unsure});
  EXPECT_THAT(images.queue(1)[0].why, HasSubstr("hardly told from b"));
}

TEST(LabelQueue, AnImageAmongManyComesBeforeALonelyOne) {
  Collection images({"a"}, {9});
  images.add(0, 0, {1});
  images.add(4, -0.1, {1});
  const std::size_t middle = images.add(4, 0, {1});
  images.add(4, 0.1, {1});
  EXPECT_EQ(images.images(1), std::vector{middle});
}

TEST(LabelQueue, NoTwoStandForTheSame) {
  Collection images({"a", "b"}, {0, 0});
  // Five nearly equal images, all unsure, and two sure ones elsewhere.
  for (int i = 0; i < 5; ++i) images.add(0, 0.02 * i, {0.5f, 0.5f});
  const std::size_t third = images.add(6, 0, {0.99f, 0.01f});
  const std::size_t fourth = images.add(9, 0, {0.01f, 0.99f});
  const auto chosen = images.images(3);
  EXPECT_LT(chosen[0], 5u);
  EXPECT_EQ(std::set(chosen.begin() + 1, chosen.end()), (std::set{third, fourth}));
}

TEST(LabelQueue, CopiesOfChosenImagesAreNotAskedFor) {
  Collection images({"a"}, {0});
  for (int i = 0; i < 4; ++i) images.add(0, 0, {1});
  images.add(3, 0, {1});
  EXPECT_THAT(images.images(20), ElementsAre(0, 4));
}

TEST(LabelQueue, ClassesWithoutLabelsHaveTheirTurnFirst) {
  Collection images({"owl", "heron", "new-01", "new-02", "new-03"}, {50, 50, 0, 0, 0});
  std::vector<std::set<std::size_t>> of_new(3);
  for (int i = 0; i < 30; ++i) images.add(0, 0.02 * i, {0.5f, 0.5f, 0, 0, 0});  // unsure
  for (int k = 0; k < 3; ++k) {
    std::vector<float> sure(5);
    sure[static_cast<std::size_t>(2 + k)] = 1;
    for (int i = 0; i < 4 + 8 * k; ++i)  // the last class is the largest
      of_new[static_cast<std::size_t>(k)].insert(images.add(4 + 3 * k, 0.02 * i, sure));
  }
  const auto queue = images.queue(3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(of_new[2 - i].contains(queue[i].image)) << i;
  EXPECT_EQ(queue[0].why, "new-03 has no label yet");
}

TEST(LabelQueue, OutliersAreNotAskedForAndCountForNothing) {
  Collection images({"a", "b"}, {0, 0});
  for (int i = 0; i < 10; ++i) images.add(0, 0.1 * i, {0.5f, 0.5f}, /*is_outlier=*/true);
  const std::size_t beside_them = images.add(0, 1, {0.99f, 0.01f});
  const std::size_t first_of_two = images.add(8, 0, {0.99f, 0.01f});
  images.add(8, 0.05, {0.99f, 0.01f});
  EXPECT_EQ(images.images(20).size(), 3u);
  EXPECT_EQ(images.images(1), std::vector{first_of_two});
  EXPECT_EQ(images.images(2)[1], beside_them);
}

TEST(LabelQueue, TheEarlierOfTwoEqualImagesIsChosenAlways) {
  Collection images({"a", "b"}, {3, 3});
  for (const std::int64_t axis : {8, 2}) images.add(axis, 0, {0.75f, 0.25f});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(images.images(2), ElementsAre(0, 1));
  EXPECT_EQ(images.queue(1)[0].why, "a has 3 labels");
}

TEST(LabelQueue, FewerImagesThanAskedForAndNoneAtAllWork) {
  Collection images({"only"}, {0});
  EXPECT_THAT(images.images(20), IsEmpty());
  images.add(0, 0, {1});
  EXPECT_THAT(images.images(20), ElementsAre(0));
  EXPECT_EQ(images.queue(20)[0].why, "only has no label yet");
}

TEST(LabelQueue, OfManyImagesAFewThousandAreCompared) {
  Collection images({"a", "b"}, {0, 100});
  for (int i = 0; i < 10000; ++i)
    images.add(i % kAxes, 1e-5 * i, i % 2 ? std::vector{0.9f, 0.1f} : std::vector{0.1f, 0.9f});
  const auto chosen = images.images(8);
  ASSERT_EQ(chosen.size(), 8u);
  // One of each direction that the class without labels has.
  std::set<std::size_t> axes;
  for (const std::size_t image : chosen) axes.insert(image % kAxes);
  EXPECT_EQ(axes, (std::set<std::size_t>{1, 3, 5, 7, 9, 11, 13, 15}));
}

}  // namespace
}  // namespace protogcd
