// Public. How well clusters agree with true classes: clustering accuracy as the field reports it
// (All, Old, New), per class, normalised mutual information and the adjusted Rand index.
//
//   const Confusion confusion(predictions, truths);
//   const ClusterMapping mapping = match_clusters(confusion);
//   const Accuracy accuracy = clustering_accuracy(confusion, mapping, old_classes);
//
// Classes are numbers from 0; the first `old_classes` of them are old. Results are fractions, and
// NaN (null in JSON) where a group has no samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace protogcd {

/// How many samples of each true class are in each predicted cluster.
class Confusion {
 public:
  /// A negative truth is unknown, and its sample is left out. InternalError if the lengths differ,
  /// a prediction is negative, or numbers are beyond kMaxNumber (they are not class numbers then).
  Confusion(std::span<const std::int32_t> predictions, std::span<const std::int32_t> truths);

  static constexpr std::int32_t kMaxNumber = (1 << 15) - 1;

  std::size_t clusters() const { return clusters_; }  ///< largest prediction + 1
  std::size_t classes() const { return classes_; }    ///< largest truth + 1
  std::int64_t samples() const { return samples_; }
  std::int64_t count(std::size_t cluster, std::size_t of_class) const {
    return counts_[cluster * classes_ + of_class];
  }
  std::span<const std::int64_t> counts() const { return counts_; }  ///< [clusters, classes]
  std::vector<std::int64_t> cluster_sizes() const;
  std::vector<std::int64_t> class_sizes() const;

  /// Only the samples whose class is in [first, last); cluster and class numbers stay.
  Confusion of_classes(std::size_t first, std::size_t last) const;

 private:
  Confusion() = default;

  std::size_t clusters_ = 0, classes_ = 0;
  std::int64_t samples_ = 0;
  std::vector<std::int64_t> counts_;
};

/// Which cluster stands for which class, one to one. -1: for none; a pair without a common sample
/// is no match.
struct ClusterMapping {
  std::vector<std::int32_t> class_of_cluster;  ///< [clusters]
  std::vector<std::int32_t> cluster_of_class;  ///< [classes]
};

/// The mapping under which most samples are right (paper, Eq. for ACC), by one linear assignment
/// over all samples. Ties fall as in the published code.
ClusterMapping match_clusters(const Confusion& confusion);

/// Rows and columns of a confusion matrix, so that what is right lies on the diagonal: classes that
/// have samples, each with the cluster that stands for it, or a free one; classes that found none
/// and clusters that are left over come last.
struct MatchingOrder {
  std::vector<std::size_t> classes, clusters;
};

/// Clusters are 0 .. clusters-1.
MatchingOrder matching_order(const Confusion& confusion, std::size_t clusters);

struct Accuracy {
  double all = 0, old_classes = 0, new_classes = 0;  ///< 0 to 1; NaN: no samples
};

/// ACC "v2", the field's number: one mapping for all samples; Old and New are the shares of right
/// samples among those of old and of new classes.
Accuracy clustering_accuracy(const Confusion& confusion, const ClusterMapping& mapping,
                             std::int32_t old_classes);
/// ACC "v2 balanced": same mapping; the mean of the accuracies of the classes that have samples.
Accuracy balanced_accuracy(const Confusion& confusion, const ClusterMapping& mapping,
                           std::int32_t old_classes);
/// ACC "v1", of early papers: Old and New each with a mapping of their own, so a cluster may count
/// for both; All is their mean weighted by samples.
Accuracy separate_accuracy(const Confusion& confusion, std::int32_t old_classes);

struct ClassAccuracy {
  std::int64_t samples = 0, correct = 0;
  std::int64_t predicted = 0;  ///< samples in the cluster that stands for the class
  double recall() const;       ///< the class's accuracy; NaN: no samples
  double precision() const;    ///< NaN: no cluster stands for the class
};

/// Of every class, under the mapping.
std::vector<ClassAccuracy> class_accuracies(const Confusion& confusion,
                                            const ClusterMapping& mapping);

/// Mutual information over the mean of the two entropies (scikit-learn's default). 1 if both sides
/// are one group, NaN without samples.
double normalized_mutual_information(const Confusion& confusion);
/// Agreement on pairs of samples, 0 for chance and 1 for the same partition (Hubert and Arabie
/// 1985). NaN without samples.
double adjusted_rand_index(const Confusion& confusion);

}  // namespace protogcd
