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

nlohmann::json in_percent(const Accuracy& accuracy) {
  return {{"all", 100 * accuracy.all},
          {"old", 100 * accuracy.old_classes},
          {"new", 100 * accuracy.new_classes}};
}

constexpr const char* kIntervals = "intervals";

struct NamedInterval {
  const char* name;
  Interval AccuracyIntervals::*which;
};
constexpr NamedInterval kNamedIntervals[] = {{"all", &AccuracyIntervals::all},
                                             {"old", &AccuracyIntervals::old_classes},
                                             {"new", &AccuracyIntervals::new_classes}};

std::optional<AccuracyIntervals> intervals_of(const nlohmann::json& json) {
  if (!json.contains(kIntervals)) return std::nullopt;
  AccuracyIntervals intervals;
  for (const auto& [name, which] : kNamedIntervals) {
    const auto ends = json.at(kIntervals).find(name);
    intervals.*which = ends == json.at(kIntervals).end()
                           ? Interval{.low = kNaN, .high = kNaN}
                           : Interval{.low = fraction_of(number_of(ends->at(0))),
                                      .high = fraction_of(number_of(ends->at(1)))};
  }
  return intervals;
}

std::string words_of(double accuracy, const Interval* interval) {
  if (std::isnan(accuracy)) return "-";
  if (interval == nullptr || std::isnan(interval->low))
    return fmt::format("{:.1f}", 100 * accuracy);
  return fmt::format("{:.1f} [{:.1f}, {:.1f}]", 100 * accuracy, 100 * interval->low,
                     100 * interval->high);
}

std::string words_of(const Evaluation& evaluation, const AccuracyIntervals* intervals) {
  if (evaluation.samples == 0) return "no labels to compare with";
  const auto of = [&](double accuracy, Interval AccuracyIntervals::*which) {
    return words_of(accuracy, intervals == nullptr ? nullptr : &(intervals->*which));
  };
  return fmt::format("All {}, Old {}, New {}", of(evaluation.accuracy.all, &AccuracyIntervals::all),
                     of(evaluation.accuracy.old_classes, &AccuracyIntervals::old_classes),
                     of(evaluation.accuracy.new_classes, &AccuracyIntervals::new_classes));
}

}  // namespace

nlohmann::json accuracy_to_json(const Evaluation& evaluation) {
  nlohmann::json json = in_percent(evaluation.accuracy);
  json["samples"] = evaluation.samples;
  if (!evaluation.intervals) return json;
  json[kIntervals] = nlohmann::json::object();
  for (const auto& [name, which] : kNamedIntervals) {
    const Interval& interval = *evaluation.intervals.*which;
    if (!std::isnan(interval.low))
      json[kIntervals][name] = {100 * interval.low, 100 * interval.high};
  }
  return json;
}

nlohmann::json to_json(const Evaluation& evaluation) {
  nlohmann::json json = accuracy_to_json(evaluation);
  json["balanced"] = in_percent(evaluation.balanced);
  json["v1"] = in_percent(evaluation.separate);
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
  return {.samples = count_at(json, "samples", std::int64_t{0}),
          .accuracy = accuracy_of(json),
          .balanced = accuracy_of(json, "balanced"),
          .separate = accuracy_of(json, "v1"),
          .nmi = number_of(json, "nmi"),
          .ari = number_of(json, "ari"),
          .marginal_old = number_of(json, "p_old"),
          .predicted_old = number_of(json, "r_old"),
          .confidence_old = number_of(confidence, "old"),
          .confidence_new = number_of(confidence, "new"),
          .intervals = intervals_of(json)};
}

std::string in_words(const Evaluation& evaluation) {
  return words_of(evaluation, nullptr);
}

std::string in_words_with_intervals(const Evaluation& evaluation) {
  return words_of(evaluation, evaluation.intervals ? &*evaluation.intervals : nullptr);
}

}  // namespace protogcd
