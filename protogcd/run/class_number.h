// Public. How many classes there are, as an estimate found it (discovery/class_number.h makes one).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
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
/// With a smaller share of nearest neighbours of an image's own class, the backbone does not keep
/// classes apart, and nothing is called sure.
inline constexpr double kLeastPurity = 0.35;
/// With a share smaller than this, nothing can be said: any number may do.
inline constexpr double kNothingSaid = 0.1;

enum class Sureness { kSure, kFairly, kUnsure };
/// What decided: clusters of trained features, the Prototype Score because clusters overlapped (in
/// runs of 0.1.0), Algorithm 1, clusters of features without training, nearest neighbours, or one
/// of others' ways.
enum class ClassNumberBasis {
  kClusters,
  kPrototypeScore,
  kAlgorithm1,
  kFrozenClusters,
  kNeighbours,
  kMaxAcc,
  kSilhouette,
  kElbow,
  kInfomap,
  kGpc
};

std::string in_words(Sureness sureness);
std::string in_words(ClassNumberBasis basis);

/// What nearest neighbours of labelled images say (discovery/neighbour_count.h).
struct NeighbourFacts {
  double purity = 0;          ///< share of them that is of the image's own class
  double labelled_share = 0;  ///< of the images of a labelled class
  double class_size = 0;      ///< images of a class, labelled and unlabelled
};

struct ClassNumber {
  std::int64_t k = 0, k_old = 0;
  std::int64_t low = 0, high = 0;  ///< other numbers that fit about as well
  Sureness sureness = Sureness::kUnsure;
  ClassNumberBasis basis = ClassNumberBasis::kClusters;
  bool is_largest = false;  ///< the largest number looked at: there may be more
  bool has_settled = true;  ///< a rule that goes on until the number stays came to that
  std::vector<ClassNumberPoint> curve = {};
  double seconds = 0;
  std::optional<NeighbourFacts> neighbours = {};  ///< where they decided

  /// Whether `k` is no more than a guess.
  bool says_nothing() const { return neighbours && neighbours->purity < kNothingSaid; }
  /// Of clusters of the backbone's own features at `k`, the accuracy on the labelled images; NaN
  /// where they were not looked at.
  double frozen_accuracy() const;

  /// `k`, `k_new`, `interval`, `curve`, `seconds`, ...
  nlohmann::json to_json() const;
  /// DataError where it makes no sense.
  static ClassNumber from_json(const nlohmann::json& json);
  /// For people: what the number comes from.
  std::string reason_in_words() const;
  /// For people: what was found, and how sure that is.
  std::string in_words(const OptionSpelling& spelling = {}) const;
};

}  // namespace protogcd
