#include "protogcd/analysis/tsne.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "protogcd/analysis/map_quality.h"
#include "protogcd/analysis/principal_plane.h"
#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kWidth = 16;

/// Row i around centre i % centres.
std::vector<float> clusters(std::size_t rows, std::size_t centres, double separation) {
  RandomStream random({.seed = 5});
  std::vector<double> places(centres * kWidth);
  for (double& value : places) value = separation * random.normal();
  std::vector<float> features;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t d = 0; d < kWidth; ++d)
      features.push_back(static_cast<float>(places[i % centres * kWidth + d] + random.normal()));
  return features;
}

TEST(Tsne, ClustersThatAreApartStayApart) {
  const auto features = clusters(600, 6, 5);
  const auto map = tsne(features, kWidth, {.iterations = 500, .threads = 2});
  ASSERT_EQ(map.size(), 1200U);
  // The nearest point of every point is of its own cluster, and farther ones lie far off.
  for (std::size_t i = 0; i < 600; ++i) {
    double own = 1e9, other = 1e9;
    for (std::size_t j = 0; j < 600; ++j) {
      if (i == j) continue;
      const double distance = std::hypot(map[2 * i] - map[2 * j], map[2 * i + 1] - map[2 * j + 1]);
      double& least = i % 6 == j % 6 ? own : other;
      least = std::min(least, distance);
    }
    ASSERT_LT(2 * own, other) << i;
  }
}

TEST(Tsne, KeepsNeighboursThatAPlaneOfPrincipalComponentsLoses) {
  const auto features = clusters(1000, 10, 2);
  ThreadPool pool(2);
  const auto plane = principal_plane(features, kWidth, 0, pool);
  const auto map = tsne(features, kWidth, {.iterations = 500, .threads = 2});
  EXPECT_LT(neighbourhood_preservation(features, kWidth, plane, {}), 0.15);
  EXPECT_GT(neighbourhood_preservation(features, kWidth, map, {}), 0.35);
  EXPECT_LT(map_divergence(features, kWidth, map, 30, 2),
            0.7 * map_divergence(features, kWidth, plane, 30, 2));
}

TEST(Tsne, IsTheSameForASeedWhateverTheThreads) {
  const auto features = clusters(1500, 5, 1);
  const TsneOptions options{.iterations = 300, .seed = 3, .threads = 1};
  const auto map = tsne(features, kWidth, options);
  for (const std::size_t threads : {1, 2, 5}) {
    TsneOptions other = options;
    other.threads = threads;
    EXPECT_EQ(tsne(features, kWidth, other), map) << threads;
  }
  TsneOptions other = options;
  other.seed = 4;
  EXPECT_NE(tsne(features, kWidth, other), map);
}

TEST(Tsne, FewRowsHaveDefinedPlaces) {
  const std::vector<float> features = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(tsne({}, 2, {}), IsEmpty());
  EXPECT_THAT(tsne({}, 0, {}), IsEmpty());
  EXPECT_THAT(tsne(std::span(features).first(2), 2, {}), ElementsAre(0, 0));
  const auto two = tsne(std::span(features).first(4), 2, {});
  EXPECT_THAT(two, ElementsAre(1, 0, -1, ::testing::FloatNear(0, 1e-6F)));
  const auto three = tsne(features, 2, {});
  ASSERT_EQ(three.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(std::hypot(three[2 * i], three[2 * i + 1]), 1, 1e-6);
}

TEST(Tsne, APerplexityTooLargeIsLowered) {
  for (const std::size_t rows : {4, 5, 9, 40}) {
    const auto features = clusters(rows, 2, 3);
    const auto map = tsne(features, kWidth, {.perplexity = 1000});
    ASSERT_EQ(map.size(), 2 * rows);
    for (const float value : map) EXPECT_TRUE(std::isfinite(value));
    const double possible = std::max(1.0, (static_cast<double>(rows) - 1) / 3);
    EXPECT_EQ(tsne(features, kWidth, {.perplexity = possible}), map);
  }
}

TEST(Tsne, RowsThatAreAllEqualGetPlacesOfTheirOwn) {
  const auto map = tsne(std::vector<float>(200 * 3, 7.0F), 3, {.threads = 2});
  ASSERT_EQ(map.size(), 400U);
  std::vector<std::pair<float, float>> places;
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_TRUE(std::isfinite(map[2 * i]) && std::isfinite(map[2 * i + 1]));
    places.emplace_back(map[2 * i], map[2 * i + 1]);
  }
  std::ranges::sort(places);
  EXPECT_EQ(std::ranges::unique(places).size(), 0U);
}

/// Noise alone: exaggerated affinities pull all points nearly into one.
TEST(Tsne, RowsWithoutStructureDoNotCollapse) {
  constexpr std::size_t kWide = 12 * kWidth, kRows = 2500;
  const auto features = clusters(12 * kRows, 1, 0);
  const auto map = tsne(features, kWide, {.iterations = 500, .threads = 2});
  EXPECT_GT(neighbourhood_preservation(features, kWide, map, {}), 0.1);
  double x = 0, y = 0;
  for (std::size_t i = 0; i < kRows; ++i) x += map[2 * i], y += map[2 * i + 1];
  EXPECT_NEAR(x / kRows, 0, 1e-5);
  EXPECT_NEAR(y / kRows, 0, 1e-5);
}

TEST(Tsne, OneNumberARowIsEnough) {
  std::vector<float> features(100);
  for (std::size_t i = 0; i < 100; ++i) features[i] = static_cast<float>(i);
  const auto map = tsne(features, 1, {});
  EXPECT_GT(neighbourhood_preservation(features, 1, map, {}), 0.7);
}

TEST(Tsne, DoesNotDependOnTheScaleOfTheFeatures) {
  const auto features = clusters(100, 3, 3);
  for (const float scale : {1e-30F, 1e30F}) {
    auto scaled = features;
    for (float& value : scaled) value *= scale;
    const auto map = tsne(scaled, kWidth, {});
    EXPECT_GT(neighbourhood_preservation(features, kWidth, map, {}), 0.5);
  }
}

TEST(Tsne, RefusesNumbersThatAreNotFiniteAndNamesTheRow) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}) {
    auto features = clusters(20, 2, 1);
    features[7 * kWidth + 3] = bad;
    try {
      tsne(features, kWidth, {});
      FAIL();
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr("row 7"));
    }
  }
  EXPECT_THROW(tsne(std::vector<float>(7), 2, {}), DataError);
  EXPECT_THROW(tsne(std::vector<float>(8), 2, {.perplexity = 0.5}), UsageError);
  EXPECT_THROW(tsne(std::vector<float>(8), 2, {.perplexity = std::nan("")}), UsageError);
  EXPECT_THROW(tsne(std::vector<float>(8), 2, {.iterations = -1}), UsageError);
}

TEST(Tsne, TellsOfEveryIterationAndCanBeStopped) {
  const auto features = clusters(50, 2, 1);
  std::vector<int> told;
  tsne(features, kWidth, {.iterations = 3, .keep_going = [&](int done) {
                            told.push_back(done);
                            return true;
                          }});
  EXPECT_THAT(told, ElementsAre(1, 2, 3));
  EXPECT_THROW(tsne(features, kWidth, {.keep_going = [](int done) { return done < 5; }}),
               InterruptedError);
}

TEST(Tsne, EndsEarlyWhenNothingChanges) {
  int iterations = 0;
  const auto count = [&](int done) { return iterations = done, true; };
  tsne(clusters(100, 2, 5), kWidth, {.iterations = 20000, .keep_going = count});
  EXPECT_LT(iterations, 10000);
}

TEST(MapQuality, CountsTheNeighboursThatAreKept) {
  RandomStream random({.seed = 1});
  std::vector<float> plane(400);
  for (float& value : plane) value = static_cast<float>(random.normal());
  EXPECT_EQ(neighbourhood_preservation(plane, 2, plane, {}), 1);
  std::vector<float> other(400);
  for (float& value : other) value = static_cast<float>(random.normal());
  EXPECT_NEAR(neighbourhood_preservation(plane, 2, other, {}), 10.0 / 199, 0.02);
  // On a line two rows change places: 0 and 1 still have each other, 2 and 3 have new neighbours.
  EXPECT_EQ(
      neighbourhood_preservation(std::vector<float>{0, 1, 3, 6}, 1,
                                 std::vector<float>{0, 0, 1, 0, 9, 0, 3, 0}, {.neighbours = 1}),
      0.5);
  EXPECT_EQ(neighbourhood_preservation(std::vector<float>{3}, 1, std::vector<float>{0, 0}, {}), 1);
}

TEST(MapQuality, OfASampleIsNearThatOfAllRows) {
  const auto features = clusters(800, 5, 1);
  ThreadPool pool(1);
  const auto plane = principal_plane(features, kWidth, 0, pool);
  EXPECT_NEAR(neighbourhood_preservation(features, kWidth, plane, {.sample = 300}),
              neighbourhood_preservation(features, kWidth, plane, {}), 0.03);
}

}  // namespace
}  // namespace protogcd
