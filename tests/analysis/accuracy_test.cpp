// Clustering accuracy and partition scores where the answer can be worked out by hand.
#include "protogcd/analysis/accuracy.h"

#include <gmock/gmock.h>

#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using Labels = std::vector<std::int32_t>;

// The example of the published evaluation; old classes are 0 and 1.
const Labels kTruths = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3};
const Labels kPredictions = {1, 1, 2, 0, 0, 0, 2, 2, 3, 3, 3, 2, 2};

Accuracy accuracy_of(const Labels& predictions, const Labels& truths, std::int32_t old_classes) {
  const Confusion confusion(predictions, truths);
  return clustering_accuracy(confusion, match_clusters(confusion), old_classes);
}

TEST(Accuracy, OldAndNewAreReadOffAfterOneAssignment) {
  const Accuracy accuracy = accuracy_of(kPredictions, kTruths, 2);
  EXPECT_DOUBLE_EQ(accuracy.all, 9.0 / 13);
  EXPECT_DOUBLE_EQ(accuracy.old_classes, 5.0 / 6);
  EXPECT_DOUBLE_EQ(accuracy.new_classes, 4.0 / 7);
}

TEST(Accuracy, BalancedIsTheMeanOverClasses) {
  const Confusion confusion(kPredictions, kTruths);
  const Accuracy accuracy = balanced_accuracy(confusion, match_clusters(confusion), 2);
  EXPECT_DOUBLE_EQ(accuracy.all, (2.0 / 3 + 1 + 2.0 / 3 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(accuracy.old_classes, (2.0 / 3 + 1) / 2);
  EXPECT_DOUBLE_EQ(accuracy.new_classes, (2.0 / 3 + 0.5) / 2);
}

TEST(Accuracy, SeparateAssignmentsLetAClusterCountTwice) {
  // Everything is in one cluster: it stands for an old class and for a new one.
  const Labels truths = {0, 0, 0, 1, 2, 2, 3, 3, 3, 3};
  const Confusion confusion(Labels(10, 5), truths);
  const Accuracy accuracy = separate_accuracy(confusion, 2);
  EXPECT_DOUBLE_EQ(accuracy.old_classes, 0.75);
  EXPECT_DOUBLE_EQ(accuracy.new_classes, 4.0 / 6);
  EXPECT_DOUBLE_EQ(accuracy.all, 0.7);
  EXPECT_DOUBLE_EQ(clustering_accuracy(confusion, match_clusters(confusion), 2).all, 0.4);
}

TEST(Accuracy, SamplesOfUnknownClassAreLeftOut) {
  Labels truths = kTruths, predictions = kPredictions;
  truths.insert(truths.begin() + 4, {-1, -7});
  predictions.insert(predictions.begin() + 4, {900, -1});
  const Confusion confusion(predictions, truths);
  EXPECT_EQ(confusion.samples(), 13);
  EXPECT_EQ(confusion.clusters(), 4u);
  EXPECT_DOUBLE_EQ(accuracy_of(predictions, truths, 2).all, 9.0 / 13);
}

TEST(Accuracy, AGroupWithoutSamplesHasNone) {
  const Accuracy no_new = accuracy_of(kPredictions, kTruths, 4);
  EXPECT_DOUBLE_EQ(no_new.old_classes, no_new.all);
  EXPECT_TRUE(std::isnan(no_new.new_classes));
  EXPECT_TRUE(std::isnan(accuracy_of(kPredictions, kTruths, 0).old_classes));
  const Confusion nothing(Labels{3, 4}, Labels{-1, -1});
  const ClusterMapping mapping = match_clusters(nothing);
  for (const Accuracy& accuracy :
       {clustering_accuracy(nothing, mapping, 2), balanced_accuracy(nothing, mapping, 2),
        separate_accuracy(nothing, 2)}) {
    EXPECT_TRUE(std::isnan(accuracy.all) && std::isnan(accuracy.old_classes) &&
                std::isnan(accuracy.new_classes));
  }
  EXPECT_TRUE(std::isnan(normalized_mutual_information(nothing)));
  EXPECT_TRUE(std::isnan(adjusted_rand_index(nothing)));
}

TEST(Accuracy, ClassesWithoutSamplesDoNotWeigh) {
  // Class 1 never occurs.
  const Confusion confusion(Labels{0, 0, 1, 1}, Labels{0, 0, 2, 0});
  const ClusterMapping mapping = match_clusters(confusion);
  EXPECT_DOUBLE_EQ(balanced_accuracy(confusion, mapping, 2).all, (2.0 / 3 + 1) / 2);
  EXPECT_DOUBLE_EQ(balanced_accuracy(confusion, mapping, 2).old_classes, 2.0 / 3);
  EXPECT_TRUE(std::isnan(class_accuracies(confusion, mapping)[1].recall()));
}

TEST(Accuracy, MappingNamesClustersAndClasses) {
  const Confusion confusion(kPredictions, kTruths);
  const ClusterMapping mapping = match_clusters(confusion);
  EXPECT_THAT(mapping.class_of_cluster, ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(mapping.cluster_of_class, ElementsAre(1, 0, 2, 3));
  const auto classes = class_accuracies(confusion, mapping);
  EXPECT_EQ(classes[3].samples, 4);
  EXPECT_EQ(classes[3].correct, 2);
  EXPECT_DOUBLE_EQ(classes[0].recall(), 2.0 / 3);
}

TEST(Accuracy, PrecisionIsOfTheClusterThatStandsForTheClass) {
  // Cluster 0 stands for class 0 and holds class 1 as well, for which no cluster is left.
  const Confusion confusion(Labels{0, 0, 0, 0, 0, 0, 1}, Labels{0, 0, 0, 0, 1, 1, 0});
  const auto classes = class_accuracies(confusion, match_clusters(confusion));
  EXPECT_DOUBLE_EQ(classes[0].recall(), 4.0 / 5);
  EXPECT_DOUBLE_EQ(classes[0].precision(), 4.0 / 6);
  EXPECT_EQ(classes[1].recall(), 0);
  EXPECT_TRUE(std::isnan(classes[1].precision()));
}

TEST(Accuracy, MoreClustersThanClassesAndTheReverse) {
  const ClusterMapping more = match_clusters(Confusion(Labels{0, 1, 2, 2}, Labels{0, 0, 0, 0}));
  EXPECT_THAT(more.class_of_cluster, ElementsAre(-1, -1, 0));
  EXPECT_THAT(more.cluster_of_class, ElementsAre(2));
  const ClusterMapping fewer = match_clusters(Confusion(Labels{1, 1, 1}, Labels{2, 2, 1}));
  EXPECT_THAT(fewer.class_of_cluster, ElementsAre(-1, 2));
  EXPECT_THAT(fewer.cluster_of_class, ElementsAre(-1, -1, 1));
}

TEST(Accuracy, DoesNotDependOnTheNumberingOfClusters) {
  RandomStream stream({.seed = 3});
  Labels renamed(12), truths(500), predictions(500), others(500);
  for (std::size_t i = 0; i < renamed.size(); ++i) renamed[i] = static_cast<std::int32_t>(i);
  shuffle(std::span(renamed), stream);
  for (std::size_t i = 0; i < truths.size(); ++i) {
    truths[i] = static_cast<std::int32_t>(stream.below(10));
    predictions[i] = stream.chance(0.6) ? truths[i] : static_cast<std::int32_t>(stream.below(12));
    others[i] = renamed[static_cast<std::size_t>(predictions[i])];
  }
  const Confusion one(predictions, truths), other(others, truths);
  EXPECT_DOUBLE_EQ(accuracy_of(predictions, truths, 5).all, accuracy_of(others, truths, 5).all);
  EXPECT_NEAR(normalized_mutual_information(one), normalized_mutual_information(other), 1e-14);
  EXPECT_NEAR(adjusted_rand_index(one), adjusted_rand_index(other), 1e-14);
}

TEST(PartitionScores, OfEqualTrivialAndCrossedPartitions) {
  const auto scores = [](const Labels& predictions, const Labels& truths) {
    const Confusion confusion(predictions, truths);
    return std::pair(normalized_mutual_information(confusion), adjusted_rand_index(confusion));
  };
  EXPECT_EQ(scores({2, 2, 0, 1}, {0, 0, 1, 2}), std::pair(1.0, 1.0));
  EXPECT_EQ(scores({0, 0, 0}, {4, 4, 4}), std::pair(1.0, 1.0));
  EXPECT_EQ(scores({0}, {0}), std::pair(1.0, 1.0));
  EXPECT_EQ(scores({0, 0, 0, 0}, {0, 0, 1, 1}), std::pair(0.0, 0.0));
  // Independent halves: nothing is shared, and pairs agree less than by chance.
  const auto [information, rand] = scores({0, 1, 0, 1}, {0, 0, 1, 1});
  EXPECT_NEAR(information, 0, 1e-15);
  EXPECT_DOUBLE_EQ(rand, -0.5);
}

TEST(Confusion, RefusesWhatAreNoClassNumbers) {
  EXPECT_THROW(Confusion(Labels{0, 1}, Labels{0}), InternalError);
  EXPECT_THROW(Confusion(Labels{-1}, Labels{0}), InternalError);
  EXPECT_THROW(Confusion(Labels{0}, Labels{2'000'000'000}), InternalError);
  const Confusion good(Labels{0}, Labels{0});
  EXPECT_THROW(class_accuracies(good, {}), InternalError);
}

}  // namespace
}  // namespace protogcd
