#include "protogcd/run/evaluation.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "protogcd/core/json.h"

namespace protogcd {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// JSON writes NaN as null.
double number_of(const nlohmann::json& json) {
  return json.is_null() ? kNaN : json.get<double>();
}

double number_of(const nlohmann::json& json, const char* key) {
  return json.contains(key) ? number_of(json.at(key)) : kNaN;
}

/// The fraction whose hundredfold this is, to the last bit: a division alone may miss it by one.
double fraction_of(double percent) {
  const double fraction = percent / 100;
  for (const double near : {std::nextafter(fraction, -1.0), std::nextafter(fraction, 2.0)}) {
    if (100 * fraction != percent && 100 * near == percent) return near;
  }
  return fraction;
}

Accuracy accuracy_of(const nlohmann::json& json) {
  return {.all = fraction_of(number_of(json.at("all"))),
          .old_classes = fraction_of(number_of(json.at("old"))),
          .new_classes = fraction_of(number_of(json.at("new")))};
}

Accuracy accuracy_of(const nlohmann::json& json, const char* key) {
  if (json.contains(key)) return accuracy_of(json.at(key));
  return {.all = kNaN, .old_classes = kNaN, .new_classes = kNaN};
}

}  // namespace

nlohmann::json to_json(const Evaluation& evaluation) {
  const auto percent = [](const Accuracy& accuracy) {
    return nlohmann::json{{"all", 100 * accuracy.all},
                          {"old", 100 * accuracy.old_classes},
                          {"new", 100 * accuracy.new_classes}};
  };
  nlohmann::json json = percent(evaluation.accuracy);
  json["samples"] = evaluation.samples;
  json["balanced"] = percent(evaluation.balanced);
  json["v1"] = percent(evaluation.separate);
  json["nmi"] = evaluation.nmi;
  json["ari"] = evaluation.ari;
  json["p_old"] = evaluation.marginal_old;
  json["p_new"] = 1 - evaluation.marginal_old;
  json["r_old"] = evaluation.predicted_old;
  json["r_new"] = 1 - evaluation.predicted_old;
  json["confidence"] = {{"old", evaluation.confidence_old},
                        {"new", evaluation.confidence_new},
                        {"gap", evaluation.confidence_old - evaluation.confidence_new}};
  return json;
}

Evaluation evaluation_from_json(const nlohmann::json& json) {
  const nlohmann::json confidence = json.value("confidence", nlohmann::json::object());
  return {.samples = json.value("samples", std::int64_t{0}),
          .accuracy = accuracy_of(json),
          .balanced = accuracy_of(json, "balanced"),
          .separate = accuracy_of(json, "v1"),
          .nmi = number_of(json, "nmi"),
          .ari = number_of(json, "ari"),
          .marginal_old = number_of(json, "p_old"),
          .predicted_old = number_of(json, "r_old"),
          .confidence_old = number_of(confidence, "old"),
          .confidence_new = number_of(confidence, "new")};
}

std::string in_words(const Evaluation& evaluation) {
  if (evaluation.samples == 0) return "no labels to compare with";
  const auto percent = [](double value) {
    return std::isnan(value) ? std::string("-") : fmt::format("{:.1f}", 100 * value);
  };
  return fmt::format("All {}, Old {}, New {}", percent(evaluation.accuracy.all),
                     percent(evaluation.accuracy.old_classes),
                     percent(evaluation.accuracy.new_classes));
}

}  // namespace protogcd
