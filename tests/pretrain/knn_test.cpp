// k-NN accuracy by hand.
#include "protogcd/pretrain/knn.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace protogcd {
namespace {

/// Unit vectors at these angles in degrees, of other lengths: only directions count.
at::Tensor at_angles(const std::vector<double>& degrees) {
  at::Tensor features = at::empty({static_cast<std::int64_t>(degrees.size()), 2}, at::kFloat);
  for (std::size_t i = 0; i < degrees.size(); ++i) {
    const double angle = degrees[i] * std::numbers::pi / 180, length = 1.0 + static_cast<double>(i);
    const auto row = static_cast<std::int64_t>(i);
    features[row][0] = length * std::cos(angle);
    features[row][1] = length * std::sin(angle);
  }
  return features;
}

TEST(Knn, CountsImagesWhoseNeighboursVoteForTheirClass) {
  // The nearest other one: 0->10 right, 10->18 wrong, 18->10 wrong, 90->100 right, 100->90 right.
  const at::Tensor features = at_angles({0, 10, 18, 90, 100});
  const at::Tensor labels = at::tensor({0, 0, 1, 1, 1}, at::kLong);
  EXPECT_DOUBLE_EQ(knn_accuracy(features, labels, 1), 3.0 / 5);
  EXPECT_DOUBLE_EQ(knn_accuracy(at_angles({0, 10, 21, 90, 100}), labels, 1), 4.0 / 5);
}

TEST(Knn, NearNeighboursHaveMoreToSay) {
  // For the image at 0 one neighbour of its class at 20 degrees stands against two at 50: votes
  // exp(0.940 / 0.07) = 6.7e5 and 2 exp(0.643 / 0.07) = 1.9e4. A plain majority would say 1.
  const at::Tensor features = at_angles({0, 20, 50, -50});
  const at::Tensor labels = at::tensor({0, 0, 1, 1}, at::kLong);
  // 0 and 20 are told right; 50 and -50 see 20 and 0 nearest and are told wrong.
  EXPECT_DOUBLE_EQ(knn_accuracy(features, labels, 3), 2.0 / 4);
}

TEST(Knn, AnImageHasNoVoteOnItself) {
  // Every image's own class appears once: with itself as a neighbour all would be right.
  EXPECT_DOUBLE_EQ(knn_accuracy(at_angles({0, 30, 60}), at::tensor({0, 1, 2}, at::kLong), 1), 0);
  // Also beyond the rows that are looked at together.
  at::manual_seed(0);
  EXPECT_DOUBLE_EQ(knn_accuracy(at::randn({1500, 3}), at::arange(1500, at::kLong), 1), 0);
}

TEST(Knn, ManyRowsAndFewNeighboursToAsk) {
  at::manual_seed(0);
  const at::Tensor labels = at::arange(2500, at::kLong).remainder(4);
  const at::Tensor features = at::one_hot(labels, 4).to(at::kFloat) + at::rand({2500, 4}) * 0.2;
  EXPECT_DOUBLE_EQ(knn_accuracy(features, labels, 20), 1);
  EXPECT_DOUBLE_EQ(knn_accuracy(at_angles({0, 90}), at::tensor({0, 0}, at::kLong), 20), 1);
  EXPECT_DOUBLE_EQ(knn_accuracy(at_angles({0}), at::tensor({0}, at::kLong), 20), 0);
}

}  // namespace
}  // namespace protogcd
