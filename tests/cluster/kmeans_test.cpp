#include "protogcd/cluster/kmeans.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "protogcd/cluster/nearest_centroids.h"
#include "protogcd/cluster/sampled.h"
#include "protogcd/cluster/seeding.h"
#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "tests/support/blobs.h"
#include "tests/support/cuda.h"
#include "tests/support/error_message.h"

namespace protogcd {
namespace {

using testing::blobs;
using ::testing::HasSubstr;
using testing::message_of;

double inertia_of(const at::Tensor& features, const Clustering& result) {
  return (features.to(at::kDouble) -
          result.centroids.to(at::kDouble).index_select(0, result.labels))
      .square()
      .sum()
      .item<double>();
}

TEST(KMeans, SamplesHaveTheirSizeAndAreEvenlyDrawn) {
  std::vector<int> drawn(10);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::vector<std::int64_t> rows = draw_rows(10, 3, seed);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_TRUE(std::ranges::is_sorted(rows, std::less_equal<>())) << "a row twice";
    for (const std::int64_t row : rows) ++drawn[static_cast<std::size_t>(row)];
  }
  for (const int times : drawn) EXPECT_NEAR(times, 600, 90);  // standard deviation 20.5
  EXPECT_EQ(draw_rows(4, 4, 0), (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(KMeans, FindsSeparateGroups) {
  const at::Tensor features = blobs(300, 20, 5, 10);
  const Clustering result = kmeans(Points(features), {.k = 5});
  for (std::int64_t i = 5; i < 300; ++i)
    EXPECT_EQ(result.labels[i].item<int>(), result.labels[i % 5].item<int>());
  EXPECT_EQ(at::bincount(result.labels).min().item<int>(), 60);
  EXPECT_NEAR(result.inertia, inertia_of(features, result), 1e-4 * result.inertia);
}

TEST(KMeans, LabelsAreTheNearestCentroidsEvenWhenStoppedEarly) {
  const at::Tensor features = blobs(400, 33, 12, 0.5).to(at::kDouble);
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Clustering result =
        kmeans(Points(features.to(type)), {.k = 12, .starts = 1, .max_iterations = 2});
    EXPECT_EQ(result.iterations, 2);
    const at::Tensor distances = at::cdist(features, result.centroids.to(at::kDouble));
    EXPECT_TRUE(at::equal(result.labels, distances.argmin(1)));
  }
}

TEST(KMeans, MoreStartsAreNeverWorse) {
  const Points points(blobs(500, 8, 20, 1.5));
  const double one = kmeans(points, {.k = 20, .starts = 1}).inertia;
  const double many = kmeans(points, {.k = 20, .starts = 12}).inertia;
  EXPECT_LT(many, one);
}

// Bounds, int8 and changed sums may save work, but not change a result.
TEST(KMeans, FastAssignmentTakesTheStepsOfThePlainOne) {
  for (const auto& [rows, width, k] :
       {std::array<std::int64_t, 3>{1000, 48, 30}, {700, 7, 5}, {501, 129, 70}, {64, 1, 3}}) {
    const at::Tensor features = blobs(rows, width, k, 0.3);
    const Points points(features), exact(features.to(at::kDouble));
    at::Tensor centroids = points.rows().narrow(0, 0, k).contiguous();
    const auto fast = make_cpu_nearest_centroids(points, k, {});
    const auto plain = make_tensor_nearest_centroids(exact, k, {});
    for (int step = 0; step < 12; ++step) {
      const auto changed = fast->assign(centroids);
      EXPECT_EQ(changed, plain->assign(centroids.to(at::kDouble)));
      ASSERT_TRUE(at::equal(fast->labels(), plain->labels())) << width << ", step " << step;
      EXPECT_EQ(fast->counts(), plain->counts());
      const at::Tensor next = fast->means(centroids);
      EXPECT_TRUE(
          at::allclose(next.to(at::kDouble), plain->means(centroids.to(at::kDouble)), 1e-5, 1e-6));
      centroids = next;
    }
  }
}

/// Whole numbers around zero with 127 as the largest of every row, so that int8 holds them and
/// products are exact in every type.
at::Tensor whole_numbers(std::int64_t pairs, std::int64_t width) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  at::Tensor half = at::randint(-99, 100, {pairs, width}, generator, at::kFloat);
  half.select(1, 0).fill_(127);
  return at::cat({half, -half});
}

// Distances to the mean of a row's cluster without the row, computed as such, are the reference.
TEST(KMeans, EagerAssignmentLeavesARowOutOfItsOwnMean) {
  constexpr std::int64_t kRows = 600, kClusters = 20;
  const at::Tensor features = whole_numbers(kRows / 2, 24);
  const Points points(features), exact(features.to(at::kDouble));
  const at::Tensor start = features.narrow(0, 0, kClusters).contiguous();
  at::Tensor fixed = at::full({kRows}, -1, at::kLong);
  for (std::int64_t i = 0; i < 40; ++i) fixed[i] = i % kClusters;
  for (const at::Tensor& held : {at::Tensor(), fixed}) {
    const auto fast = make_cpu_nearest_centroids(points, kClusters, held);
    const auto plain = make_tensor_nearest_centroids(exact, kClusters, held);
    fast->assign(start);
    plain->assign(start.to(at::kDouble));
    const at::Tensor centroids = features.narrow(0, kRows / 3, kClusters).contiguous();
    const at::Tensor sizes = at::bincount(fast->labels(), {}, kClusters).to(at::kDouble);
    at::Tensor distances = at::cdist(exact.rows(), centroids.to(at::kDouble)).square();  // [N, K]
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::int64_t own = fast->labels()[i].item<std::int64_t>();
      distances[i][own] *= 1 + 2 / sizes[own].item<double>();
    }
    at::Tensor expected = distances.argmin(1);
    if (held.defined()) expected = at::where(held >= 0, held, expected);
    EXPECT_LT((expected == fast->labels()).sum().item<int>(), kRows - 50);
    EXPECT_EQ(fast->assign_eagerly(centroids, fast->counts()),
              plain->assign_eagerly(centroids.to(at::kDouble), plain->counts()));
    EXPECT_TRUE(at::equal(fast->labels(), expected));
    EXPECT_TRUE(at::equal(plain->labels(), expected));
    fast->assign(centroids);  // bounds of before must be forgotten
    plain->assign(centroids.to(at::kDouble));
    EXPECT_TRUE(at::equal(fast->labels(), plain->labels()));
  }
}

TEST(KMeans, ARowAloneInItsClusterIsJudgedPlainly) {
  at::Tensor features = at::zeros({3, 16});
  features[0][0] = 100;
  features[1][0] = features[2][0] = -50;
  const at::Tensor start = features.narrow(0, 0, 2).contiguous();
  at::Tensor centroids = features.narrow(0, 0, 1).repeat({2, 1});  // both beside the first row,
  centroids[0][1] = 100;  // whose distance to its own would count three times,
  centroids[1][1] = 140;  // and this one's is twice as large when squared
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Points points(features.to(type));
    const auto nearest = make_nearest_centroids(points, 2, {});
    nearest->assign(start.to(type));
    ASSERT_EQ(nearest->counts(), (std::vector<std::int64_t>{1, 2}));
    nearest->assign_eagerly(centroids.to(type), nearest->counts());
    EXPECT_EQ(nearest->labels()[0].item<int>(), 0);
  }
}

// Sums are of rounded rows in eager rounds, and must not be what plain ones begin with.
TEST(KMeans, MeansAreNearInEagerRoundsAndExactAfterThem) {
  constexpr std::int64_t kClusters = 30;
  const Points points(blobs(1000, 48, kClusters, 0.3));
  const auto nearest = make_cpu_nearest_centroids(points, kClusters, {});
  const auto error = [&](const at::Tensor& means) {
    const at::Tensor sizes = at::bincount(nearest->labels(), {}, kClusters);
    const at::Tensor exact = at::zeros({kClusters, 48}, at::kDouble)
                                 .index_add_(0, nearest->labels(), points.rows().to(at::kDouble))
                                 .div_(sizes.unsqueeze(1));
    return (means - exact).abs().max().item<double>();
  };
  at::Tensor centroids = points.rows().narrow(0, 0, kClusters).contiguous();
  nearest->assign(centroids);
  centroids = nearest->means(centroids);
  EXPECT_LT(error(centroids), 1e-6);
  nearest->assign_eagerly(centroids, nearest->counts());
  centroids = nearest->means(centroids);
  EXPECT_LT(error(centroids), 0.02);
  for (int round = 0; round < 2; ++round) {
    nearest->assign(centroids);
    centroids = nearest->means(centroids);
    EXPECT_LT(error(centroids), 1e-6);
  }
}

/// Lloyd's algorithm without eager rounds, until nothing changes.
Clustering plain_lloyd(const Points& points, at::Tensor centroids) {
  const auto nearest = make_tensor_nearest_centroids(points, centroids.size(0), {});
  std::int64_t iterations = 0;
  while (nearest->assign(centroids) > 0) {
    centroids = nearest->means(centroids);
    ++iterations;
  }
  return {.labels = nearest->labels(),
          .centroids = centroids,
          .inertia = own_distances(points, centroids, nearest->labels()).sum().item<double>(),
          .iterations = iterations};
}

TEST(KMeans, EagerRoundsSaveRoundsAndEndLowerWhereClustersOverlap) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Points points(blobs(2000, 64, 15, 0.3).to(type));
    std::int64_t rounds = 0, plain_rounds = 0;
    double inertia = 0, plain_inertia = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const at::Tensor start = first_centroids(points, {.k = 15, .seed = seed});
      const Clustering plain = plain_lloyd(points, start - points.mean());
      const Clustering result = lloyd(points, start, {});
      inertia += result.inertia;
      plain_inertia += plain.inertia;
      rounds += result.iterations;
      plain_rounds += plain.iterations;
    }
    EXPECT_LT(inertia, 0.997 * plain_inertia);
    EXPECT_LT(rounds, 0.7 * static_cast<double>(plain_rounds));
  }
}

// Thirty rows a cluster in 768 dimensions: nearly every row would leave its cluster.
TEST(KMeans, AnEagerRoundThatLosesIsUndone) {
  const Points points(blobs(1500, 768, 50, 0.15));
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const at::Tensor start = first_centroids(points, {.k = 50, .seed = seed});
    const double plain = plain_lloyd(points, start - points.mean()).inertia;
    EXPECT_LE(lloyd(points, start, {}).inertia, 1.0001 * plain);
  }
}

TEST(KMeans, ARunEndsWherePlainRoundsChangeNothing) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Points points(blobs(2000, 64, 15, 0.3).to(type));
    const Clustering result = kmeans(points, {.k = 15, .starts = 1, .tolerance = 0});
    const Clustering again = plain_lloyd(points, (result.centroids - points.mean()).contiguous());
    EXPECT_TRUE(at::equal(again.labels, result.labels));
    EXPECT_LT((again.centroids + points.mean() - result.centroids).abs().max().item<double>(),
              1e-5);
  }
}

// Far groups: distances inside of one are about as long as what int8 loses of a row.
TEST(KMeans, RoundedDistancesAreNearAndShortOnesExact) {
  for (const std::int64_t width : {7, 16, 100}) {
    const Points points(blobs(500, width, 5, 100));
    const at::Tensor columns = points.rows().narrow(0, 0, 70);
    const at::Tensor exact =
        at::cdist(columns.to(at::kDouble), points.rows().to(at::kDouble), 2, /*by differences*/ 2)
            .square();
    const at::Tensor found = points.squared_distances(columns);
    ASSERT_EQ(found.sizes(), exact.sizes());
    EXPECT_TRUE(
        at::allclose(found.to(at::kDouble), exact, 0.05, 1e-3 * exact.mean().item<double>()));
    if (has_int8_products(width)) {
      EXPECT_TRUE(at::allclose(found.to(at::kDouble), exact, 0.05, 1e-6)) << width;
    }
  }
}

TEST(KMeans, TheSeedDecidesAndThreadsDoNot) {
  const Points points(blobs(3000, 40, 25, 0.4));
  const KMeansOptions options{.k = 25, .starts = 2, .seed = 7};
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Clustering one = kmeans(points, options);
  at::set_num_threads(2);
  const Clustering two = kmeans(points, options);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(one.labels, two.labels));
  EXPECT_TRUE(at::equal(one.centroids, two.centroids));
  KMeansOptions other = options;
  other.seed = 8;
  EXPECT_FALSE(at::equal(one.labels, kmeans(points, other).labels));
}

TEST(KMeans, StartsDifferAndEachIsTheSameAgain) {
  const Points points(blobs(300, 10, 9, 1));
  const auto seeds = [&](std::int64_t start) {
    return kmeans_plus_plus(points, {.k = 9, .start = start, .seed = 3});
  };
  EXPECT_TRUE(at::equal(seeds(1), seeds(1)));
  EXPECT_FALSE(at::equal(seeds(0), seeds(1)));
}

// Far groups are what k-means++ is for: drawing evenly would miss some of these nearly always.
TEST(KMeans, SeedsCoverFarGroups) {
  const Points points(blobs(1000, 16, 25, 30));
  for (std::int64_t start = 0; start < 5; ++start) {
    const at::Tensor seeds = kmeans_plus_plus(points, {.k = 25, .start = start, .seed = 0});
    const at::Tensor nearest = at::cdist(points.rows(), seeds).amin(1);
    EXPECT_LT(nearest.max().item<double>(), 20);
  }
}

TEST(KMeans, LloydGoesOnFromGivenCentroids) {
  const at::Tensor features = blobs(200, 12, 4, 3);
  const Points points(features);
  const Clustering best = kmeans(points, {.k = 4});
  const Clustering again = lloyd(points, best.centroids, {});
  EXPECT_TRUE(at::equal(again.labels, best.labels));
  EXPECT_LE(again.iterations, 2);
  const Clustering same = lloyd(points, first_centroids(points, {.k = 4, .seed = 5}), {});
  EXPECT_EQ(same.inertia, kmeans(points, {.k = 4, .starts = 1, .seed = 5}).inertia);
}

TEST(KMeans, AnEmptyClusterGetsTheFarthestRow) {
  const at::Tensor features = at::tensor({0.0F, 0.1F, 0.2F, 5.0F, 5.1F, 50.0F}).view({6, 1});
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Points points(features.to(type));
    const at::Tensor start = at::tensor({0.0F, 1000.0F, 2000.0F}).view({3, 1});
    const Clustering result = lloyd(points, start, {});
    EXPECT_EQ(at::bincount(result.labels, {}, 3).min().item<int>(), 1);
    EXPECT_NEAR(result.inertia, 0.025, 1e-5);
  }
}

TEST(KMeans, EqualRowsGiveADefinedResult) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Clustering result = kmeans(Points(at::full({50, 4}, 3.7, type)), {.k = 5});
    EXPECT_EQ(result.inertia, 0);
    EXPECT_TRUE(at::allclose(result.centroids, at::full({5, 4}, 3.7, type)));
    EXPECT_LE(result.iterations, 2);
  }
}

TEST(KMeans, AsManyClustersAsRowsAndOneCluster) {
  const at::Tensor features = blobs(12, 3, 12, 5);
  const Points points(features);
  EXPECT_NEAR(kmeans(points, {.k = 12}).inertia, 0, 1e-9);
  const Clustering one = kmeans(points, {.k = 1});
  EXPECT_TRUE(at::allclose(one.centroids[0], features.mean(0), 1e-5, 1e-6));
  EXPECT_EQ(kmeans(Points(features.narrow(0, 0, 1)), {.k = 1}).inertia, 0);
}

TEST(KMeans, BadInputIsNamed) {
  const at::Tensor features = blobs(10, 3, 2, 1);
  const Points points(features, "f.npy");
  EXPECT_THAT(message_of<UsageError>([&] { kmeans(points, {.k = 0}); }), HasSubstr("k: 0"));
  EXPECT_THAT(message_of<UsageError>([&] { kmeans(points, {.k = 11}); }),
              HasSubstr("11 clusters of 10 rows (f.npy)"));
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), 1e30}) {
    at::Tensor spoiled = features.clone();
    spoiled[7][1] = bad;
    EXPECT_THAT(message_of<DataError>([&] { const Points p(spoiled, "f.npy"); }),
                HasSubstr("f.npy: row 7 (from 0)"));
  }
  EXPECT_THAT(message_of<DataError>([&] {
                const Points p(at::empty({0, 3}), "f.npy");
              }),
              HasSubstr("[0, 3]"));
  EXPECT_THAT(message_of<DataError>([&] {
                const Points p(at::ones({3, 3}, at::kLong));
              }),
              HasSubstr("float32 or float64"));
}

TEST(SemiSupervisedKMeans, LabelledRowsStayAndOldClassesComeFirst) {
  const at::Tensor features = blobs(400, 10, 8, 4);  // row i is of class i % 8
  at::Tensor labels = at::full({400}, -1, at::kLong);
  for (std::int64_t i = 0; i < 200; ++i)
    if (i % 8 < 3) labels[i] = i % 8;
  labels[3] = 0;  // far from its class: it stays all the same
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Clustering result =
        semi_supervised_kmeans(Points(features.to(type)), labels, {.k = 8, .starts = 5});
    const at::Tensor known = (labels >= 0).nonzero().squeeze(1);
    EXPECT_TRUE(at::equal(result.labels.index_select(0, known), labels.index_select(0, known)));
    for (std::int64_t i = 200; i < 400; ++i) {
      if (i % 8 < 3) {
        EXPECT_EQ(result.labels[i].item<std::int64_t>(), i % 8);
      } else {
        EXPECT_GE(result.labels[i].item<std::int64_t>(), 3);
      }
    }
  }
}

TEST(SemiSupervisedKMeans, BadInputIsNamed) {
  const Points points(blobs(10, 3, 2, 1), "f.npy");
  const auto fit = [&](std::vector<std::int64_t> labels, std::int64_t k) {
    labels.resize(10, -1);
    return message_of([&] {
      semi_supervised_kmeans(points, at::tensor(at::ArrayRef<std::int64_t>(labels)), {.k = k});
    });
  };
  EXPECT_THAT(fit({0, 1, 2}, 2), HasSubstr("2 clusters for 3 labelled classes"));
  EXPECT_THAT(fit({0, 2}, 5), HasSubstr("class 1 has no labelled row"));
  EXPECT_THAT(fit({0, 0, 0, 0, 0, 0, 0, 0}, 4), HasSubstr("3 new clusters of 2 unlabelled rows"));
  EXPECT_EQ(fit({0, 1}, 2), "accepted");
  EXPECT_EQ(fit({}, 3), "accepted");  // nothing labelled: plain k-means
}

TEST(KMeans, CudaFindsWhatTheCpuFinds) {
  PROTOGCD_NEEDS_CUDA();
  const at::Tensor features = blobs(5000, 64, 10, 3);
  at::Tensor labels = at::full({5000}, -1, at::kLong);
  for (std::int64_t i = 0; i < 1000; ++i)
    if (i % 10 < 4) labels[i] = i % 10;
  const Points here(features), there(features.to(at::kCUDA));
  const Clustering plain = kmeans(there, {.k = 10});
  EXPECT_TRUE(plain.labels.is_cuda());
  EXPECT_NEAR(plain.inertia, kmeans(here, {.k = 10}).inertia, 1e-4 * plain.inertia);
  const Clustering guided = semi_supervised_kmeans(there, labels, {.k = 10});
  const Clustering expected = semi_supervised_kmeans(here, labels, {.k = 10});
  EXPECT_NEAR(guided.inertia, expected.inertia, 1e-4 * expected.inertia);
  const at::Tensor start = first_centroids(here, {.k = 10});
  EXPECT_TRUE(at::equal(lloyd(there, start, {}).labels.cpu(), lloyd(here, start, {}).labels));
}

/// Ten copies of each of eight points, so that which copy is drawn makes no difference. Whole
/// numbers around zero with 127 as the largest of every point: int8 holds them, and distances are
/// exact in every type.
at::Tensor copies_of_eight_points(at::ScalarType type) {
  const at::Tensor seven = at::tensor({127, 91,   13,  127, 37,   29, -127, 17,  -25, 127, -58,
                                       -49, -127, -45, -73, -127, 5,  71,   127, -35, 88},
                                      at::kLong)
                               .view({7, 3});
  const at::Tensor eight = at::cat({seven, -seven.sum(0, true)});
  return at::constant_pad_nd(eight, {0, 13}).to(type).repeat_interleave(10, 0);
}

TEST(Seeding, TheFastWayChoosesWhatThePlainOneDoes) {
  const Points fast(copies_of_eight_points(at::kFloat), "fast"),
      plain(copies_of_eight_points(at::kDouble), "plain");
  at::Tensor free = at::ones({80}, at::kBool);
  free.narrow(0, 20, 20).fill_(false);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const bool restricted : {false, true}) {
      const auto seeded = [&](const Points& points) {
        SeedingOptions options{.k = 5, .seed = seed};
        if (restricted) {
          options.given = points.rows().narrow(0, 79, 1);
          options.free = free;
        }
        return kmeans_plus_plus(points, options);
      };
      EXPECT_TRUE(at::allclose(seeded(fast).to(at::kDouble), seeded(plain), 0, 0))
          << "seed " << seed << (restricted ? ", restricted" : "");
    }
  }
}

/// Greedy k-means++ as it is written down, every row drawn by the distances of the moment; the
/// numbers of the rows.
std::vector<std::size_t> plainly_seeded(const std::vector<std::vector<double>>& distances,
                                        int count, int trials, std::mt19937_64& random) {
  std::vector<double> closest(distances.size(), 1);
  std::vector<std::size_t> chosen;
  while (std::ssize(chosen) < count) {
    std::discrete_distribution<std::size_t> lots(closest.begin(), closest.end());
    std::vector<double> best;
    std::size_t best_row = 0;
    for (int t = 0; t < (chosen.empty() ? 1 : trials); ++t) {
      const std::size_t row = lots(random);
      std::vector<double> after = distances[row];
      for (std::size_t i = 0; i < after.size() && !chosen.empty(); ++i)
        after[i] = std::min(after[i], closest[i]);
      if (!best.empty() &&
          std::reduce(best.begin(), best.end()) <= std::reduce(after.begin(), after.end()))
        continue;
      best = after;
      best_row = row;
    }
    closest = best;
    chosen.push_back(best_row);
  }
  return chosen;
}

// Rows are drawn many at a time, by distances that are no more true when they are used.
TEST(Seeding, RowsAreDrawnByTheDistancesOfTheMoment) {
  constexpr int kRows = 10, kCentroids = 5, kRuns = 6000;  // 3 trials a step
  const at::Tensor features = whole_numbers(kRows / 2, 16).to(at::kDouble);
  const at::Tensor squares = at::cdist(features, features).square();
  std::vector<std::vector<double>> distances;
  for (int i = 0; i < kRows; ++i) {
    const at::Tensor row = squares[i].contiguous();
    distances.emplace_back(row.const_data_ptr<double>(), row.const_data_ptr<double>() + kRows);
  }
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Points points(features.to(type));
    std::array<std::array<double, kRows>, kCentroids> expected{}, found{};
    std::mt19937_64 random(1);
    for (int run = 0; run < kRuns; ++run) {
      const auto plain = plainly_seeded(distances, kCentroids, 3, random);
      const at::Tensor seeds = kmeans_plus_plus(points, {.k = kCentroids, .start = run});
      const at::Tensor rows = at::cdist(seeds, points.rows()).argmin(1);
      for (std::size_t step = 0; step < kCentroids; ++step) {
        ++expected[step][plain[step]];
        ++found[step][rows[static_cast<std::int64_t>(step)].item<std::int64_t>()];
      }
    }
    for (std::size_t step = 0; step < kCentroids; ++step) {
      for (std::size_t row = 0; row < kRows; ++row) {
        const double sum = expected[step][row] + found[step][row];
        EXPECT_NEAR(found[step][row], expected[step][row], 4 * std::sqrt(sum) + 1)
            << "step " << step << ", row " << row;
      }
    }
  }
}

TEST(Seeding, RowsThatAreNotFreeAreNeverDrawn) {
  const Points points(copies_of_eight_points(at::kFloat), "points");
  at::Tensor free = at::ones({80}, at::kBool);
  free.narrow(0, 20, 20).fill_(false);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const at::Tensor centroids = kmeans_plus_plus(
        points, {.k = 6, .seed = seed, .given = points.rows().narrow(0, 0, 1), .free = free});
    for (const std::int64_t hidden : {20, 30}) {
      const at::Tensor distances = (centroids - points.rows()[hidden]).square().sum(1);
      EXPECT_GT(distances.min().item<double>(), 1e-3) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace protogcd
