#include "protogcd/run/tuning.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

nlohmann::json accuracy_or_null(double value) {
  return std::isnan(value) ? nlohmann::json() : nlohmann::json(value);
}

double accuracy_of(const nlohmann::json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

nlohmann::json setting_to_json(const TunedSetting& setting) {
  return {{"weight", setting.weight}, {"borrow", setting.borrow}};
}

TunedSetting setting_from_json(const nlohmann::json& json) {
  return {.weight = json.at("weight"), .borrow = json.at("borrow")};
}

/// "weight x 2", "weight x 0.5 and borrow x 0", by the name of the weight.
std::string setting_in_words(const TunedSetting& setting, const std::string& option,
                             const OptionSpelling& spelling) {
  if (setting.is_default()) return "the default";
  const auto times = [&](std::string_view key, double factor) {
    return fmt::format("{} x {}", spelling ? spelling(key) : std::string(key), factor);
  };
  std::vector<std::string> changed;
  if (setting.weight != 1) changed.push_back(times(option, setting.weight));
  if (setting.borrow != 1) changed.push_back(times("borrow", setting.borrow));
  return join(changed, " and ");
}

}  // namespace

double Tuning::mean_score(const TunedSetting& setting, bool of_last) const {
  double sum = 0, count = 0;
  for (const TuningTrial& trial : trials) {
    if (trial.setting != setting || trial.is_last != of_last) continue;
    sum += trial.score;
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

nlohmann::json Tuning::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const TuningTrial& trial : trials) {
    list.push_back({{"times", setting_to_json(trial.setting)},
                    {"draw", trial.draw},
                    {"epochs", trial.epochs},
                    {"last", trial.is_last},
                    {"old", accuracy_or_null(trial.old_classes)},
                    {"new", accuracy_or_null(trial.new_classes)},
                    {"score", trial.score}});
  }
  return {{"times", setting_to_json(chosen)},
          {"option", option},
          {"weight", weight},
          {"borrow", borrow},
          {"classes", classes},
          {"hidden", hidden},
          {"rival", setting_to_json(rival)},
          {"gain", gain},
          {"error", error},
          {"margin", margin},
          {"trials", list},
          {"seconds", seconds}};
}

Tuning Tuning::from_json(const nlohmann::json& json) {
  Tuning result{.chosen = setting_from_json(json.at("times")),
                .option = json.at("option"),
                .weight = json.at("weight"),
                .borrow = json.at("borrow"),
                .classes = count_at(json, "classes"),
                .hidden = count_at(json, "hidden"),
                .rival = setting_from_json(json.at("rival")),
                .gain = json.at("gain"),
                .error = json.at("error"),
                .margin = json.at("margin")};
  for (const auto& trial : json.at("trials")) {
    result.trials.push_back({.setting = setting_from_json(trial.at("times")),
                             .draw = count_at(trial, "draw"),
                             .epochs = count_at(trial, "epochs"),
                             .is_last = trial.at("last"),
                             .old_classes = accuracy_of(trial.at("old")),
                             .new_classes = accuracy_of(trial.at("new")),
                             .score = trial.at("score")});
  }
  result.seconds = json.at("seconds");
  return result;
}

std::string Tuning::in_words(const OptionSpelling& spelling) const {
  std::int64_t draws = 0;
  for (const TuningTrial& trial : trials) draws = std::max(draws, trial.draw + 1);
  const auto score = [&](const TunedSetting& setting, bool of_last) {
    return fmt::format("{:.1f}%", 100 * mean_score(setting, of_last));
  };
  std::vector<std::string> others;  // of the first stage, where each was tried once
  for (const TuningTrial& trial : trials) {
    if (trial.is_last || trial.setting == rival || trial.setting.is_default()) continue;
    others.push_back(fmt::format(
        "{} {}", setting_in_words(trial.setting, option, spelling),
        std::isnan(trial.new_classes) ? "diverged" : fmt::format("{:.1f}%", 100 * trial.score)));
  }
  const auto name = [&](std::string_view key) {
    return spelling ? spelling(key) : std::string(key);
  };
  return fmt::format(
      "settings were tried with {} of {} labelled classes hidden, {} times: {} gets {} of their "
      "images right, the default {} ({:+.1f} +- {:.1f} points). {}: {} {}, {} {}.{} Tried in {}.",
      hidden, classes, draws, setting_in_words(rival, option, spelling), score(rival, true),
      score({}, true), 100 * gain, 100 * error,
      chosen.is_default()
          ? fmt::format("That is not {:.0f} point and the error better, and the default stays",
                        100 * margin)
          : fmt::format("That is more than {:.0f} point and the error, and it is taken",
                        100 * margin),
      name(option), weight, name("borrow"), borrow,
      others.empty() ? ""
                     : fmt::format(" In a shorter training before: the default {}, {}.",
                                   score({}, false), join(others, ", ")),
      human_seconds(seconds));
}

}  // namespace protogcd
