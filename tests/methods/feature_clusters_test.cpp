// Clusters that keep the numbers of an earlier run, and work on whole sets that hears who stops it.
#include "protogcd/methods/feature_clusters.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "protogcd/core/error.h"
#include "protogcd/methods/concepts.h"
#include "protogcd/methods/registry.h"
#include "protogcd/methods/split_merge.h"

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

TEST(NumberedAs, ClassesThatTheEarlierRunDidNotHaveAreTheClustersThatAreLeft) {
  at::Tensor prototypes = at::eye(4);
  prototypes[3].zero_();
  Clustering found{
      .labels = at::arange(4),
      .centroids = at::eye(4).index_select(0, at::tensor({0, 3, 1, 2}, at::kLong)) + 0.1};
  const Clustering numbered = numbered_as(found, prototypes, 1);
  EXPECT_TRUE(at::equal(numbered.labels, at::tensor({0, 3, 1, 2}, at::kLong)));
  EXPECT_TRUE(at::equal(numbered.centroids.argmax(1), at::arange(4)));
}

/// Directions in a plane, in degrees.
at::Tensor directions(const at::Tensor& degrees) {
  const at::Tensor angles = degrees * (std::numbers::pi / 180);
  return at::stack({angles.cos(), angles.sin()}, 1).to(at::kFloat);
}

/// A labelled class that is all over the place, one that is not, and images between them.
class WideAndNarrow : public SetFeatures {
 public:
  std::int64_t count(SampleSet set) const override { return rows(set).size(0); }
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override {
    if (count(set) > 0) use(rows(set));
  }
  at::Tensor labels() const override { return at::arange(2).repeat_interleave(40); }
  at::Tensor rows(SampleSet set) const {
    if (set == SampleSet::kUnlabelled) return directions(at::linspace(70, 88, 10));
    if (set == SampleSet::kLabelled)
      return directions(at::cat({at::linspace(-90, 90, 40), at::linspace(148, 152, 40)}));
    return at::empty({0, 2});
  }
};

TEST(ClustersAsClasses, TheModelPutsAnImageWhereTheClusteringPutIt) {
  for (const char* name : {"gcd", "kmeans"}) {
    MethodChoice choice = find_method(name);
    choice->resolve({.epochs = 2});
    WideAndNarrow sets;
    const Outcome found = choice
                              ->make({.width = 2,
                                      .classes = {"wide", "narrow"},
                                      .old_classes = 2,
                                      .labelled = 80,
                                      .unlabelled = 10,
                                      .epochs = 2})
                              ->outcome(sets);
    const Prototypes& prototypes = found.prototypes;
    const at::Tensor rows = sets.rows(SampleSet::kUnlabelled), cosines = prototypes.cosines(rows),
                     nearest = at::cdist(rows, prototypes.centres).argmin(1);
    EXPECT_FALSE(at::equal(cosines.argmax(1), nearest)) << "or this test says nothing";
    EXPECT_TRUE(at::equal(prototypes.scores(cosines).argmax(1), nearest)) << name;
    for (std::size_t i = 0; i < found.labels.size(); ++i)
      EXPECT_EQ(found.labels[i], nearest[static_cast<std::int64_t>(i)].item<int>()) << name;
  }
}

/// Its classes are running means: no parameters.
class Means : public Method {
 public:
  std::map<std::string, at::Tensor> parameters() const override { return {}; }
  std::map<std::string, at::Tensor> state() const override { return {{"means", means_}}; }
  std::vector<std::string> of_classes() const override { return {"means"}; }
  std::vector<ReportedValue> reported() const override { return {}; }
  std::vector<double> begin_epoch(const EpochInput&) override { return {}; }
  StepLoss loss(const std::vector<StepBatch>&, Communicator&) override { return {}; }
  Outcome outcome(SetFeatures&) const override { return {.prototypes = {.centres = means_}}; }

 private:
  const at::Tensor means_ = at::ones({3, 2});
};

TEST(TakenHead, TurnsPrototypesThatAreKeptAsState) {
  const Means method;
  const TakenHead head{.prototypes = at::tensor({1.0, 0.0, 0.0, 0.0, 0.0, -1.0}).view({3, 2}),
                       .parameters = {{"means", at::zeros({3, 2})}}};
  EXPECT_TRUE(head.give_to(method).empty());
  const double length = std::sqrt(2.0);
  const at::Tensor turned = at::tensor({length, 0.0, 1.0, 1.0, 0.0, -length}).view({3, 2});
  EXPECT_TRUE(at::allclose(method.state().at("means"), turned.to(at::kFloat)));
}

class UnitRows : public SetFeatures {
 public:
  explicit UnitRows(StopToken stop) : stop_(std::move(stop)) {}
  std::int64_t count(SampleSet set) const override {
    return set == SampleSet::kUnlabelled ? rows_.size(0) : 0;
  }
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override {
    if (set == SampleSet::kUnlabelled) use(rows_);
  }
  at::Tensor labels() const override { return at::empty({0}, at::kLong); }
  StopToken stop() const override { return stop_; }

 private:
  const at::Tensor rows_ = at::rand({40, 8});
  const StopToken stop_;
};

// All that methods do with whole sets before an epoch and in the end.
TEST(WholeSets, AskedToStopNothingGoesOn) {
  const StopToken stop;
  UnitRows sets(stop);
  const at::Tensor rows = trained_on(sets), known = known_labels(sets);
  const Clustering found = cluster_images(sets, {.k = 4});
  const auto halves = [&] { return halves_of(rows, found.labels, 4, 0, 0, stop); };
  const auto split = [&, cut = halves()] {
    const at::Tensor exact = rows.to(at::kDouble);
    return split_and_merge(
        exact, found.labels, found.centroids.to(at::kDouble), cut, 0,
        {.mean = exact.mean(0), .nu = 9}, {}, [] { return 1.0; }, stop);
  };
  EXPECT_NO_THROW(split());
  stop.request_stop();
  EXPECT_THROW(cluster_images(sets, {.k = 4}), InterruptedError);
  EXPECT_THROW(clusters_from(sets, found.centroids), InterruptedError);
  EXPECT_THROW(halves(), InterruptedError);
  EXPECT_THROW(split(), InterruptedError);
  EXPECT_THROW(concept_links(rows, known, {}, stop), InterruptedError);
  EXPECT_THROW(find_concepts(rows, known, {}, stop), InterruptedError);
}

}  // namespace
}  // namespace protogcd
