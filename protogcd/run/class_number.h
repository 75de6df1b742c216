// Public. How many classes there are, as an estimate found it (discovery/class_number.h makes one).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protogcd/core/option_name.h"

namespace protogcd {

/// What is known about one K; NaN where it was not looked at.
struct ClassNumberPoint {
  std::int64_t k = 0;
  double frozen_accuracy = 0;  ///< of clusters of untrained features, on the labelled images
  double silhouette = 0;       ///< mean over the models
  double accuracy = 0, log_centroids = 0, log_score = 0;  ///< Prototype Score
};

/// What a sentence about the labelled classes, or the word "sure", has to be earned by: accuracies
/// of clusters of frozen features on the labelled images.
inline constexpr double kWholeClasses = 0.8, kLeastForFairly = 0.6;

enum class Sureness { kSure, kFairly, kUnsure };
/// What decided: clusters of trained features, the Prototype Score because clusters overlap,
/// Algorithm 1, or clusters of features without training.
enum class ClassNumberBasis { kClusters, kPrototypeScore, kAlgorithm1, kFrozenClusters };

std::string in_words(Sureness sureness);
std::string in_words(ClassNumberBasis basis);

struct ClassNumber {
  std::int64_t k = 0, k_old = 0;
  std::int64_t low = 0, high = 0;  ///< other numbers that fit about as well
  Sureness sureness = Sureness::kUnsure;
  ClassNumberBasis basis = ClassNumberBasis::kClusters;
  bool is_largest = false;  ///< the largest number looked at: there may be more
  std::vector<ClassNumberPoint> curve = {};
  double seconds = 0;

  /// Of clusters of the backbone's own features at `k`, the accuracy on the labelled images; NaN
  /// where they were not looked at.
  double frozen_accuracy() const;

  /// `k`, `k_new`, `interval`, `curve`, `seconds`, ...
  nlohmann::json to_json() const;
  /// DataError where it makes no sense.
  static ClassNumber from_json(const nlohmann::json& json);
  /// For people: what was found, and how sure that is.
  std::string in_words(const OptionSpelling& spelling = {}) const;
};

}  // namespace protogcd
