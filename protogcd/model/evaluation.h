// How good predictions are, where the truth is known.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "protogcd/model/prediction.h"
#include "protogcd/run/evaluation.h"

namespace protogcd {

/// `truths` [N], negative where unknown.
Evaluation evaluate(const Predictions& predictions, std::span<const std::int32_t> truths,
                    std::int64_t old_classes);

/// How far confidence is from how often predictions are right (analysis/calibration.h); NaN where
/// no truth is known.
double calibration_error_of(const Predictions& predictions, std::span<const std::int32_t> truths);

/// Class by class: who is taken for whom, and how often rightly.
class ClassTables {
 public:
  /// `classes` and `clusters` are the names of the truths' and of the predictions' numbers.
  ClassTables(const Predictions& predictions, std::span<const std::int32_t> truths,
              std::span<const std::string> classes, std::span<const std::string> clusters);

  /// A row for each true class, a column for each cluster, in the order in which they match (a
  /// right image is on the diagonal), clusters that stand for no class last.
  std::string confusion_csv() const;
  /// `class,cluster,images,correct,recall,precision`, the last two in percent; cluster and
  /// precision are empty where no cluster stands for the class.
  std::string classes_csv() const;
  /// The same as an array, with `taken_for`: how many images are in which cluster.
  nlohmann::json to_json() const;
  /// Both tables, for a terminal; nothing where there are more than kMostInWords classes.
  std::string in_words() const;

  static constexpr std::size_t kMostInWords = 20;

 private:
  std::int64_t count(std::size_t cluster, std::size_t of_class) const {
    return cluster < confusion_.clusters() ? confusion_.count(cluster, of_class) : 0;
  }
  /// The name of the cluster that stands for the class, or nothing.
  std::string cluster_of(std::size_t of_class) const;

  std::vector<std::string> classes_, clusters_;
  Confusion confusion_;
  ClusterMapping mapping_;
  std::vector<ClassAccuracy> accuracies_;  ///< of each class
  MatchingOrder order_;
};

}  // namespace protogcd
