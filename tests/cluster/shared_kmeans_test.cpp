// k-means of rows that several processes have a part of each finds what one process finds.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <atomic>
#include <limits>

#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/core/error.h"
#include "tests/support/blobs.h"
#include "tests/support/team.h"

namespace protogcd {
namespace {

using testing::blobs;
using testing::Team;

/// Rows before those of a process: parts of different sizes.
std::int64_t first_of(std::int64_t rank, std::int64_t size, std::int64_t rows) {
  return rows * rank * (rank + 1) / (size * (size + 1));
}

struct Part {
  at::Tensor rows, labels;
  std::shared_ptr<Communicator> team;
};

/// What `cluster` finds of the parts of `processes` processes, labels in the order of all rows.
template <class Cluster>
Clustering together(std::int64_t processes, const at::Tensor& rows, const at::Tensor& labels,
                    const Cluster& cluster) {
  std::vector<Clustering> found(static_cast<std::size_t>(processes));
  Team(processes).run([&](Team::Member& member) {
    const std::int64_t begin = first_of(member.rank(), processes, rows.size(0)),
                       count = first_of(member.rank() + 1, processes, rows.size(0)) - begin;
    found[static_cast<std::size_t>(member.rank())] =
        cluster(Part{.rows = rows.narrow(0, begin, count),
                     .labels = labels.narrow(0, begin, count),
                     .team = {std::shared_ptr<void>(), &member}});
  });
  std::vector<at::Tensor> all;
  for (const Clustering& one : found) {
    all.push_back(one.labels);
    EXPECT_TRUE(at::equal(one.centroids, found[0].centroids)) << "processes part";
    EXPECT_EQ(one.inertia, found[0].inertia);
  }
  found[0].labels = at::cat(all);
  return found[0];
}

void expect_same(const Clustering& one, const Clustering& other, double tolerance) {
  EXPECT_TRUE(at::equal(one.labels, other.labels));
  EXPECT_EQ(one.iterations, other.iterations);
  EXPECT_NEAR(one.inertia, other.inertia, tolerance * one.inertia);
  EXPECT_LT((one.centroids - other.centroids).abs().max().item<double>(), tolerance);
}

struct SharedKMeans : ::testing::TestWithParam<std::int64_t> {};

TEST_P(SharedKMeans, FindsWhatOneProcessFinds) {
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-11), {at::kFloat, 1e-5}}) {
    const at::Tensor rows = blobs(600, 40, 12, 1.2).to(type), none = at::full({600}, -1, at::kLong);
    const KMeansOptions options{.k = 12, .starts = 3, .seed = 5};
    const Clustering shared = together(GetParam(), rows, none, [&](const Part& part) {
      return kmeans(Points(part.rows, "features", part.team), options);
    });
    expect_same(kmeans(Points(rows), options), shared, tolerance);
  }
}

TEST_P(SharedKMeans, LabelledRowsOfAllProcessesGuideIt) {
  const at::Tensor rows = blobs(400, 16, 10, 1.0).to(at::kDouble);
  const at::Tensor classes = at::arange(400, at::kLong) % 10;
  // Those of class 4 are all in the last part.
  const at::Tensor late = at::arange(400, at::kLong) >= 300;
  const at::Tensor labels =
      at::where((classes < 5).logical_and((classes != 4).logical_or(late)), classes, -1);
  for (const bool plain : {false, true}) {
    const KMeansOptions options{.k = 10, .starts = 2, .seed = 3, .plain_seeding = plain};
    const Clustering shared = together(GetParam(), rows, labels, [&](const Part& part) {
      return semi_supervised_kmeans(Points(part.rows, "features", part.team), part.labels, options);
    });
    expect_same(semi_supervised_kmeans(Points(rows), labels, options), shared, 1e-11);
  }
}

TEST_P(SharedKMeans, AnEmptyClusterGetsTheFarthestRowOfAll) {
  at::Tensor rows = blobs(90, 4, 3, 6).to(at::kDouble);
  rows[80] += 100;  // of the last process
  rows[70] += 60;
  const at::Tensor none = at::full({90}, -1, at::kLong),
                   centroids = at::cat({rows.narrow(0, 0, 3), rows.narrow(0, 0, 2) + 1e6});
  const KMeansOptions options{.max_iterations = 1};
  const Clustering alone = lloyd(Points(rows), centroids, options);
  const Clustering shared = together(GetParam(), rows, none, [&](const Part& part) {
    return lloyd(Points(part.rows, "features", part.team), centroids, options);
  });
  expect_same(alone, shared, 1e-11);
  EXPECT_NE(shared.labels[80].item<int>(), shared.labels[70].item<int>());
  EXPECT_GE(shared.labels[80].item<int>(), 3);
  EXPECT_GE(shared.labels[70].item<int>(), 3);
}

TEST_P(SharedKMeans, WhatIsWrongInOnePartEndsAll) {
  at::Tensor rows = blobs(60, 4, 3, 6);
  rows[59][2] = std::numeric_limits<float>::quiet_NaN();
  std::atomic<int> refused = 0;
  together(GetParam(), rows, at::full({60}, -1, at::kLong), [&](const Part& part) {
    try {
      Points(part.rows, "features", part.team);
    } catch (const DataError&) {
      ++refused;
    }
    return Clustering{.labels = at::zeros({1}), .centroids = at::zeros({1})};
  });
  EXPECT_EQ(refused, GetParam());
}

TEST_P(SharedKMeans, OneThatIsAskedToStopStopsAll) {
  const at::Tensor rows = blobs(60, 4, 3, 6);
  std::atomic<int> stopped = 0;
  together(GetParam(), rows, at::full({60}, -1, at::kLong), [&](const Part& part) {
    const StopToken stop;
    if (part.team->rank() == 0) stop.request_stop();
    try {
      kmeans(Points(part.rows, "features", part.team), {.k = 3, .stop = stop});
    } catch (const InterruptedError&) {
      ++stopped;
    }
    return Clustering{.labels = at::zeros({1}), .centroids = at::zeros({1})};
  });
  EXPECT_EQ(stopped, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Processes, SharedKMeans, ::testing::Values(2, 3));

}  // namespace
}  // namespace protogcd
