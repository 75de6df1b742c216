// Clusters that keep the numbers of an earlier run.
#include "protogcd/methods/feature_clusters.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace protogcd {
namespace {

TEST(NumberedAs, NewClustersHaveTheNumbersOfThoseTheyLookLike) {
  const at::Tensor prototypes = at::eye(5);
  const at::Tensor order = at::tensor({0, 1, 3, 4, 2}, at::kLong);  // cluster i is like order[i]
  Clustering found{.labels = at::tensor({0, 1, 2, 3, 4, 4, 2}, at::kLong),
                   .centroids = prototypes.index_select(0, order) * 3 + 0.2};
  const Clustering numbered = numbered_as(found, prototypes, 2);
  EXPECT_TRUE(at::equal(numbered.labels, at::tensor({0, 1, 3, 4, 2, 2, 3}, at::kLong)));
  EXPECT_TRUE(at::equal(numbered.centroids.argmax(1), at::arange(5)));
}

TEST(NumberedAs, OldClassesStayWhateverTheyLookLike) {
  const at::Tensor prototypes = at::eye(4);
  Clustering found{.labels = at::arange(4),
                   .centroids = prototypes.index_select(0, at::tensor({1, 0, 3, 2}, at::kLong))};
  const Clustering numbered = numbered_as(found, prototypes, 2);
  EXPECT_TRUE(at::equal(numbered.labels, at::tensor({0, 1, 3, 2}, at::kLong)));
  EXPECT_TRUE(at::equal(numbered.centroids.argmax(1), at::tensor({1, 0, 2, 3}, at::kLong)));
}

// Each by itself would take the same number: together they have one each.
TEST(NumberedAs, NoNumberIsGivenTwice) {
  const at::Tensor prototypes = at::eye(3);
  Clustering found{
      .labels = at::arange(3),
      .centroids = at::tensor({1.0, 0.0, 0.0, 0.1, 1.0, 0.5, 0.0, 1.0, 0.0}).view({3, 3})};
  const Clustering numbered = numbered_as(found, prototypes, 1);
  EXPECT_TRUE(at::equal(numbered.labels, at::tensor({0, 2, 1}, at::kLong)));
}

}  // namespace
}  // namespace protogcd
