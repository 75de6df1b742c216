#include "protogcd/cluster/silhouette.h"

#include <gtest/gtest.h>

namespace protogcd {
namespace {

at::Tensor eight_points() {
  return at::tensor({0., 0., 1., 0., 0., 1., 5., 5., 6., 5., 5., 7., 10., 0., -3., 4.})
      .view({8, 2});
}

TEST(Silhouette, IsThatOfScikitLearnAlsoWhereARowIsAlone) {
  const Silhouette silhouette(eight_points());
  EXPECT_NEAR(silhouette(at::tensor({0, 0, 0, 1, 1, 1, 2, 0}, at::kLong)), 0.5889753180189713,
              1e-12);
  EXPECT_NEAR(silhouette(at::tensor({0, 1, 0, 1, 0, 1, 0, 1}, at::kLong)), -0.09174769539335917,
              1e-12);
}

TEST(Silhouette, ANumberThatNoRowHasChangesNothing) {
  const Silhouette silhouette(eight_points());
  EXPECT_DOUBLE_EQ(silhouette(at::tensor({0, 0, 0, 3, 3, 3, 5, 0}, at::kLong)),
                   silhouette(at::tensor({0, 0, 0, 1, 1, 1, 2, 0}, at::kLong)));
}

TEST(Silhouette, OneClusterAndCoincidingRowsScoreZero) {
  EXPECT_EQ(Silhouette(eight_points())(at::zeros({8}, at::kLong)), 0);
  EXPECT_EQ(Silhouette(at::ones({4, 3}))(at::tensor({0, 0, 1, 1}, at::kLong)), 0);
}

TEST(Silhouette, LooksAtSomeRowsOfManyTheSameForTheSameSeed) {
  const at::Tensor near = at::randn({400, 4}), features = at::cat({near, near + 20});
  const at::Tensor labels = at::arange(800).ge(400).to(at::kLong);
  const double all = Silhouette(features)(labels), some = Silhouette(features, 100, 1)(labels);
  EXPECT_NEAR(some, all, 0.05);
  EXPECT_NE(some, all);
  EXPECT_EQ(some, Silhouette(features, 100, 1)(labels));
}

}  // namespace
}  // namespace protogcd
