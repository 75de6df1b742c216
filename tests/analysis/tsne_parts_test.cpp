// The steps of t-SNE, each against a plain computation.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "protogcd/analysis/fourier.h"
#include "protogcd/analysis/grid_convolution.h"
#include "protogcd/analysis/nearest_neighbours.h"
#include "protogcd/analysis/principal_plane.h"
#include "protogcd/analysis/tsne_affinities.h"
#include "protogcd/analysis/tsne_attraction.h"
#include "protogcd/analysis/tsne_repulsion.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

using ::testing::Each;
using ::testing::FloatEq;

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed, double scale = 1) {
  RandomStream random({.seed = seed});
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(scale * random.normal());
  return values;
}

MapPoints normal_points(std::size_t count, std::uint64_t seed, double scale) {
  return {normal_numbers(count, seed, scale), normal_numbers(count, seed + 1, scale)};
}

TEST(Fourier, TransformsEveryLaneOfEverySizeAndWidth) {
  constexpr std::size_t kLanes = FourierPlan::kLanes;
  for (const VectorWidth width : usable_vectors()) {
    for (const std::size_t size : {1, 2, 3, 4, 6, 8, 18, 48, 54, 128}) {
      const FourierPlan plan(size, width);
      auto real = normal_numbers(size * kLanes, 1), imaginary = normal_numbers(size * kLanes, 2);
      const auto first_real = real, first_imaginary = imaginary;
      std::vector<float> spare_real(real.size()), spare_imaginary(real.size());
      const ComplexLanes result = plan.transform({real.data(), imaginary.data()},
                                                 {spare_real.data(), spare_imaginary.data()});
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        for (std::size_t k = 0; k < size; ++k) {
          std::complex<double> sum = 0;
          for (std::size_t n = 0; n < size; ++n) {
            sum += std::complex<double>(first_real[n * kLanes + lane],
                                        first_imaginary[n * kLanes + lane]) *
                   std::polar(1.0, -2 * std::numbers::pi * double(n * k) / double(size));
          }
          ASSERT_NEAR(result.real[k * kLanes + lane], sum.real(), 2e-5) << size;
          ASSERT_NEAR(result.imaginary[k * kLanes + lane], sum.imag(), 2e-5) << size;
        }
      }
    }
  }
}

TEST(Fourier, SizesAreTheLeastEvenProductsOfTwosAndThrees) {
  EXPECT_EQ(fourier_size(1), 2U);
  EXPECT_EQ(fourier_size(5), 6U);
  EXPECT_EQ(fourier_size(26), 32U);
  EXPECT_EQ(fourier_size(49), 54U);
  EXPECT_EQ(fourier_size(649), 768U);
}

TEST(GridConvolution, EqualsTheSumOverAllNodes) {
  ThreadPool pool(2);
  for (const std::size_t nodes : {3, 24, 36}) {
    GridConvolution grid(pool);
    const auto kernel = [](double x, double y) { return 1 / (1 + 0.3 * x * x + 0.2 * y * y); };
    grid.set_kernel(nodes, kernel, [](double) { return 1.0; });
    const auto values = normal_numbers(nodes * nodes, nodes);
    for (std::size_t x = 0; x < nodes; ++x)
      for (std::size_t y = 0; y < nodes; ++y)
        grid.values()[grid.index(x, y)] = values[x * nodes + y];
    grid.convolve();
    for (std::size_t x = 0; x < nodes; ++x) {
      for (std::size_t y = 0; y < nodes; ++y) {
        double sum = 0;
        for (std::size_t a = 0; a < nodes; ++a)
          for (std::size_t b = 0; b < nodes; ++b)
            sum += values[a * nodes + b] * kernel(double(x) - double(a), double(y) - double(b));
        ASSERT_NEAR(grid.values()[grid.index(x, y)], sum, 1e-4) << nodes << " " << x << " " << y;
      }
    }
  }
}

/// Distances of all rows, sorted.
std::vector<std::pair<double, std::uint32_t>> sorted_others(const std::vector<float>& features,
                                                            std::size_t dimension,
                                                            std::size_t row) {
  std::vector<std::pair<double, std::uint32_t>> others;
  for (std::size_t j = 0; j < features.size() / dimension; ++j) {
    double sum = 0;
    for (std::size_t d = 0; d < dimension; ++d)
      sum += std::pow(double{features[row * dimension + d]} - features[j * dimension + d], 2);
    if (j != row) others.emplace_back(sum, j);
  }
  std::ranges::sort(others);
  return others;
}

TEST(NearestNeighbours, AreThoseOfAllDistancesAtEveryWidth) {
  ThreadPool pool(2);
  for (const VectorWidth width : usable_vectors()) {
    for (const auto& [rows, dimension, count] :
         {std::tuple<std::size_t, std::size_t, std::size_t>{2, 3, 1},
          {49, 1, 5},
          {97, 33, 96},
          {200, 16, 10}}) {
      auto features = normal_numbers(rows * dimension, rows);
      for (float& value : features) value += 3;  // far from the origin
      const Neighbours found = nearest_neighbours(features, dimension, count, pool, width);
      ASSERT_EQ(found.count, count);
      for (std::size_t i = 0; i < rows; ++i) {
        const auto expected = sorted_others(features, dimension, i);
        for (std::size_t k = 0; k < count; ++k) {
          EXPECT_EQ(found.rows[i * count + k], expected[k].second) << i << " " << k;
          EXPECT_NEAR(found.squared_distances[i * count + k], expected[k].first,
                      1e-4 * (1 + expected[k].first));
        }
      }
    }
  }
}

TEST(NearestNeighbours, OfSomeRowsAreTheSameAndTiesGoToTheRowsThatFollow) {
  ThreadPool pool(1);
  const auto features = normal_numbers(60 * 4, 5);
  const Neighbours all = nearest_neighbours(features, 4, 3, pool);
  const std::vector<std::uint32_t> asked = {59, 7};
  const Neighbours some = nearest_neighbours(features, 4, 3, asked, pool);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(some.rows[k], all.rows[59 * 3 + k]);
    EXPECT_EQ(some.rows[3 + k], all.rows[7 * 3 + k]);
  }
  const std::vector<float> equal(10, 2.0F);
  const Neighbours ties = nearest_neighbours(equal, 2, 100, pool);
  EXPECT_EQ(ties.count, 4U);
  EXPECT_THAT(std::vector(ties.rows.begin() + 8, ties.rows.begin() + 12),
              ::testing::ElementsAre(3, 4, 0, 1));
  EXPECT_EQ(nearest_neighbours({}, 3, 5, pool).count, 0U);
}

TEST(PrincipalPlane, FindsTheTwoWidestDirections) {
  ThreadPool pool(2);
  auto features = normal_numbers(1000 * 5, 8);
  for (std::size_t i = 0; i < 1000; ++i) features[5 * i + 1] *= 10, features[5 * i + 3] *= 4;
  const auto plane = principal_plane(features, 5, 0, pool);
  double one = 0, other = 0, squares[4] = {};
  for (std::size_t i = 0; i < 1000; ++i) {
    one += plane[2 * i] * features[5 * i + 1], other += plane[2 * i + 1] * features[5 * i + 3];
    squares[0] += plane[2 * i] * plane[2 * i];
    squares[1] += features[5 * i + 1] * features[5 * i + 1];
    squares[2] += plane[2 * i + 1] * plane[2 * i + 1];
    squares[3] += features[5 * i + 3] * features[5 * i + 3];
  }
  EXPECT_GT(std::abs(one) / std::sqrt(squares[0] * squares[1]), 0.999);
  EXPECT_GT(std::abs(other) / std::sqrt(squares[2] * squares[3]), 0.99);
}

TEST(Affinities, OfARowHaveTheAskedPerplexity) {
  auto distances = normal_numbers(90, 3);
  for (float& value : distances) value = 1000 + 10 * value * value;
  std::vector<float> values(90);
  for (const double perplexity : {1.5, 5.0, 30.0, 80.0}) {
    conditional_affinities(distances, perplexity, values);
    double sum = 0, entropy = 0;
    for (const float value : values) {
      sum += value;
      if (value > 0) entropy -= value * std::log(value);
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_NEAR(std::exp(entropy), perplexity, 1e-3 * perplexity);
  }
}

TEST(Affinities, OfEqualDistancesAreEqual) {
  std::vector<float> values(10);
  conditional_affinities(std::vector<float>(10, 0.0F), 3, values);
  EXPECT_THAT(values, Each(FloatEq(0.1F)));
  std::vector<float> two_near(5, 4.0F);
  two_near[1] = two_near[3] = 1;
  values.resize(5);
  conditional_affinities(two_near, 1, values);  // two that are equal cannot be one
  EXPECT_NEAR(values[1], 0.5, 1e-3);
  EXPECT_NEAR(values[3], 0.5, 1e-3);
}

Affinities some_affinities(std::size_t rows, ThreadPool& pool) {
  const auto features = normal_numbers(rows * 6, 4);
  return joint_affinities(nearest_neighbours(features, 6, 30, pool), 10, pool);
}

TEST(Affinities, AreSymmetricAndSumToOne) {
  ThreadPool pool(2);
  const Affinities affinities = some_affinities(150, pool);
  std::vector<double> dense(150 * 150);
  for (std::size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(affinities.starts[i] % Affinities::kAlign, 0U);
    for (std::size_t e = affinities.starts[i]; e < affinities.starts[i + 1]; ++e)
      dense[i * 150 + affinities.columns[e]] += affinities.weights[e];
  }
  EXPECT_NEAR(std::accumulate(dense.begin(), dense.end(), 0.0), 1, 1e-5);
  for (std::size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(dense[i * 151], 0);
    for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(dense[i * 150 + j], dense[j * 150 + i]);
  }
}

TEST(Affinities, PerplexityIsLoweredForFewRows) {
  EXPECT_EQ(possible_perplexity(30, 1000), 30);
  EXPECT_EQ(possible_perplexity(30, 31), 10);
  EXPECT_EQ(possible_perplexity(30, 4), 1);
  EXPECT_EQ(perplexity_neighbours(30, 1000), 90U);
  EXPECT_EQ(perplexity_neighbours(1, 3), 2U);
}

TEST(Attraction, IsTheSumOverTheNeighboursAtEveryWidth) {
  ThreadPool pool(1);
  const Affinities affinities = some_affinities(100, pool);
  const MapPoints points = normal_points(100, 6, 2);
  for (const VectorWidth width : usable_vectors()) {
    std::vector<float> x(60), y(60);
    attraction(affinities, points, 40, 100, x.data(), y.data(), width);
    for (std::size_t i = 40; i < 100; ++i) {
      double sum_x = 0, sum_y = 0;
      for (std::size_t e = affinities.starts[i]; e < affinities.starts[i + 1]; ++e) {
        const double dx = points.x[i] - points.x[affinities.columns[e]];
        const double dy = points.y[i] - points.y[affinities.columns[e]];
        sum_x += affinities.weights[e] * dx / (1 + dx * dx + dy * dy);
        sum_y += affinities.weights[e] * dy / (1 + dx * dx + dy * dy);
      }
      EXPECT_NEAR(x[i - 40], sum_x, 1e-8);
      EXPECT_NEAR(y[i - 40], sum_y, 1e-8);
    }
  }
}

double relative_error(const std::vector<float>& found, const std::vector<float>& exact) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += std::pow(double{found[i]} - exact[i], 2);
    size += std::pow(double{exact[i]}, 2);
  }
  return std::sqrt(error / size);
}

/// From the first map, which is tiny, to wide ones: root mean square within 1%
/// of the forces, and the normaliser within 0.5%.
TEST(Repulsion, OfTheGridIsThatOfAllPairs) {
  ThreadPool pool(2);
  for (const double scale : {1e-5, 1e-3, 0.05, 0.3, 1.0, 5.0, 20.0}) {
    const MapPoints points = normal_points(1500, 9, scale);
    Repulsion exact, found;
    exact_repulsion(points, pool, exact);
    GridRepulsion grid(pool);
    for (const std::size_t round : {0, 1, 500}) {
      grid.compute_on_grid(points, round, found);
      EXPECT_LT(relative_error(found.x, exact.x), 0.01) << scale;
      EXPECT_LT(relative_error(found.y, exact.y), 0.01) << scale;
      EXPECT_NEAR(found.normaliser / exact.normaliser, 1, 0.005) << scale;
    }
  }
}

TEST(Repulsion, OfPairsInFloat32IsThatInFloat64) {
  ThreadPool pool(2);
  for (const std::size_t count : {4, 16, 100, 333}) {
    const MapPoints points = normal_points(count, 9, 3);
    Repulsion exact, found;
    exact_repulsion(points, pool, exact);
    for (const VectorWidth width : usable_vectors()) {
      pairwise_repulsion(points, pool, found, width);
      EXPECT_LT(relative_error(found.x, exact.x), 1e-5);
      EXPECT_LT(relative_error(found.y, exact.y), 1e-5);
      EXPECT_NEAR(found.normaliser / exact.normaliser, 1, 1e-6);
    }
    GridRepulsion(pool).compute(points, 0, found);  // few points: no grid
    EXPECT_LT(relative_error(found.x, exact.x), 1e-5);
  }
}

TEST(Repulsion, HoldsOnHugeMapsAndWhereAllPointsAreOne) {
  ThreadPool pool(1);
  GridRepulsion grid(pool);
  MapPoints points = normal_points(200, 3, 1);
  points.x[7] = 1e5F;  // far away: steps must grow, and near forces get coarse, but stay finite
  Repulsion found;
  grid.compute_on_grid(points, 0, found);
  for (const float force : found.x) EXPECT_TRUE(std::isfinite(force));
  const MapPoints same{std::vector<float>(50, 2.0F), std::vector<float>(50, -1.0F)};
  grid.compute_on_grid(same, 0, found);
  EXPECT_NEAR(found.normaliser, 50 * 49, 0.1);
  EXPECT_THAT(found.x, Each(::testing::FloatNear(0, 1e-3F)));
}

}  // namespace
}  // namespace protogcd
