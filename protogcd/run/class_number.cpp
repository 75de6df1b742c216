#include "protogcd/run/class_number.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

nlohmann::json number_or_null(double value) {
  return std::isnan(value) ? nlohmann::json() : nlohmann::json(value);
}

/// Minus infinity, which JSON does not have, stands as text.
nlohmann::json logarithm(double value) {
  return std::isinf(value) ? nlohmann::json("-inf") : number_or_null(value);
}

double score_of(const nlohmann::json& json) {
  if (json.is_string()) return -std::numeric_limits<double>::infinity();
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

constexpr const char* kSurenessWords[] = {"sure", "fairly sure", "unsure"};
constexpr const char* kBasisWords[] = {
    "clusters", "prototype score", "algorithm 1", "frozen clusters", "neighbours",
    "max-acc",  "silhouette",      "elbow",       "infomap",         "gpc"};

/// The enumerator whose word this is.
template <class Enum, std::size_t kCount>
Enum from_word(const char* const (&words)[kCount], const std::string& word) {
  const auto found = std::ranges::find(words, word);
  if (found == std::end(words)) throw DataError(fmt::format("'{}' is not known", word));
  return static_cast<Enum>(found - std::begin(words));
}

}  // namespace

std::string in_words(Sureness sureness) {
  return kSurenessWords[static_cast<int>(sureness)];
}

std::string in_words(ClassNumberBasis basis) {
  return kBasisWords[static_cast<int>(basis)];
}

nlohmann::json ClassNumber::to_json() const {
  nlohmann::json points = nlohmann::json::array();
  for (const ClassNumberPoint& point : curve) {
    points.push_back({{"k", point.k},
                      {"frozen_accuracy", number_or_null(point.frozen_accuracy)},
                      {"silhouette", number_or_null(point.silhouette)},
                      {"acc_score", number_or_null(point.accuracy)},
                      {"log_centr_score", logarithm(point.log_centroids)},
                      {"log_proto_score", logarithm(point.log_score)}});
  }
  nlohmann::json json = {{"k", k},
                         {"k_old", k_old},
                         {"k_new", k - k_old},
                         {"interval", {low, high}},
                         {"sure", protogcd::in_words(sureness)},
                         {"by", protogcd::in_words(basis)},
                         {"is_largest", is_largest},
                         {"curve", points},
                         {"seconds", seconds}};
  if (!has_settled) json["has_settled"] = false;
  if (says_nothing()) json["says_nothing"] = true;
  if (neighbours) {
    json["neighbours"] = {{"purity", neighbours->purity},
                          {"labelled_share", neighbours->labelled_share},
                          {"class_size", neighbours->class_size}};
  }
  return json;
}

ClassNumber ClassNumber::from_json(const nlohmann::json& json) {
  ClassNumber result{.k = count_at(json, "k"),
                     .k_old = count_at(json, "k_old"),
                     .low = count_of(json.at("interval").at(0), "interval"),
                     .high = count_of(json.at("interval").at(1), "interval")};
  result.sureness = from_word<Sureness>(kSurenessWords, json.at("sure"));
  result.basis = from_word<ClassNumberBasis>(kBasisWords, json.at("by"));
  result.is_largest = json.at("is_largest");
  result.has_settled = json.value("has_settled", true);
  if (result.k < std::max<std::int64_t>(result.k_old, 1))
    throw DataError(fmt::format("{} classes, {} of them old", result.k, result.k_old));
  for (const auto& point : json.at("curve")) {
    result.curve.push_back({count_at(point, "k"), score_of(point.at("frozen_accuracy")),
                            score_of(point.at("silhouette")), score_of(point.at("acc_score")),
                            score_of(point.at("log_centr_score")),
                            score_of(point.at("log_proto_score"))});
  }
  result.seconds = json.at("seconds");
  if (json.contains("neighbours")) {
    const auto& found = json.at("neighbours");
    result.neighbours = {.purity = found.at("purity"),
                         .labelled_share = found.at("labelled_share"),
                         .class_size = found.at("class_size")};
  }
  return result;
}

double ClassNumber::frozen_accuracy() const {
  const auto point = std::ranges::find(curve, k, &ClassNumberPoint::k);
  return point == curve.end() ? std::numeric_limits<double>::quiet_NaN() : point->frozen_accuracy;
}

namespace {

/// Says no more of the labelled classes than the clusters' accuracy on them has earned.
std::string clusters_in_words(const ClassNumber& found) {
  if (found.k_old == 0) {
    return "Clusters of this number are the most distinct; without labelled images nothing says "
           "what a class is";
  }
  const double accuracy = found.frozen_accuracy();
  if (std::isnan(accuracy) || accuracy >= kWholeClasses)
    return "Clusters of this number are distinct and keep the labelled classes whole";
  return fmt::format(
      "Clusters of this number are the most distinct, but by the backbone's own features only "
      "{:.0f}% of the labelled images are in the cluster of their class",
      100 * accuracy);
}

/// How the number was reached, so that a person can see whether its assumption holds.
std::string neighbours_in_words(const ClassNumber& found) {
  if (!found.neighbours) return "Counted by nearest neighbours of labelled images";
  const auto& [purity, labelled_share, class_size] = *found.neighbours;
  if (found.says_nothing()) {
    return fmt::format(
        "By this backbone {:.0f}% of an image's nearest neighbours are of its own class, so that "
        "any number from {} to {} may be right. Another backbone would say more",
        100 * purity, found.low, found.high);
  }
  if (purity < kLeastPurity) {
    return fmt::format(
        "This backbone does not keep the labelled classes apart: {:.0f}% of an image's nearest "
        "neighbours are of its own class. Another one would say more",
        100 * purity);
  }
  return fmt::format(
      "By nearest neighbours {:.0f}% of the images of the labelled classes are labelled, so these "
      "have about {:.0f} images each; the others are taken to be as large on average",
      100 * labelled_share, class_size);
}

}  // namespace

std::string ClassNumber::reason_in_words() const {
  constexpr const char* kOverlapping =
      "Classes overlap too much to count clusters; at this number the old ones keep their images, "
      "and theirs alone, best";
  constexpr const char* kFirstLook =
      "Clusters of this number are the most distinct by the backbone's own features, without "
      "training: a first look";
  const std::string why[] = {
      clusters_in_words(*this),
      kOverlapping,
      "Algorithm 1 of the paper ended at this number",
      kFirstLook,
      neighbours_in_words(*this),
      "With this number k-means of the backbone's own features agrees best with the labels",
      "With this number clusters of the backbone's own features are the most distinct",
      "Here the curve of the inertia of k-means bends",
      "So many communities does the graph of nearest images have",
      has_settled
          ? "Clusters were split and merged by their likelihood until this number stayed"
          : "Clusters were split and merged by their likelihood, and their number was still "
            "changing in the last round"};
  return why[static_cast<int>(basis)];
}

std::string ClassNumber::in_words(const OptionSpelling& spelling) const {
  const bool unsure = sureness == Sureness::kUnsure;
  std::string others;
  if (is_largest) {
    others = fmt::format("it is the largest number looked at, {} allows more",
                         spelling ? spelling("k_max") : "k_max");
  } else if (basis >= ClassNumberBasis::kMaxAcc) {
    others = "this rule does not say how far off it may be";
  } else if (low == high) {
    others = unsure ? "numbers far from it fit about as well" : "no other fits nearly as well";
  } else if (basis == ClassNumberBasis::kNeighbours) {
    others = fmt::format("likely {} to {}", low, high);
  } else {
    others = fmt::format("{} to {}{} fit about as well", low, high,
                         unsure ? ", and numbers beyond," : "");
  }
  const std::string which =
      k_old == 0 ? "all of them new" : fmt::format("the {} old ones and {} new", k_old, k - k_old);
  if (says_nothing()) {
    return fmt::format(
        "nothing can be said about the number of classes: {} is a guess ({}). {}. Estimated in {}.",
        k, which, reason_in_words(), human_seconds(seconds));
  }
  return fmt::format("about {} classes: {} ({}: {}). {}. Estimated in {}.", k, which,
                     protogcd::in_words(sureness), others, reason_in_words(),
                     human_seconds(seconds));
}

}  // namespace protogcd
