#include "protogcd/discovery/result_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace protogcd {
namespace {

nlohmann::json spread_of(const std::vector<nlohmann::json>& runs) {
  nlohmann::json mean, deviation;
  for (const char* key : {"all", "old", "new"}) {
    std::vector<double> values;
    for (const auto& run : runs) {
      values.push_back(run.at(key).is_null() ? std::nan("") : run.at(key).get<double>());
    }
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const double average = sum / static_cast<double>(values.size());
    for (const double value : values) squares += (value - average) * (value - average);
    mean[key] = average;
    deviation[key] =
        values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
  }
  return {{"mean", mean}, {"std", deviation}};
}

}  // namespace

nlohmann::json to_json(const TrainSummary& summary, const std::filesystem::path& out) {
  nlohmann::json json = to_json(summary.on_unlabelled);
  json["out"] = out.string();
  json["k"] = summary.k;
  json["k_new"] = summary.k - summary.k_old;
  if (summary.estimate) json["estimate"] = summary.estimate->to_json();
  json["images"] = {{"labelled", summary.labelled},
                    {"unlabelled", summary.unlabelled},
                    {"test", summary.test},
                    {"skipped", summary.skipped}};
  json["outliers"] = summary.outliers;
  json["epochs"] = summary.epochs;
  json["seconds"] = summary.seconds;
  json["classes"] = nlohmann::json::array();
  for (const FoundClass& found : summary.classes) {
    nlohmann::json one = {{"name", found.name},
                          {"is_new", found.is_new},
                          {"images", found.images},
                          {"confidence", found.confidence}};
    if (!found.truth.empty()) {
      one["truth"] = found.truth;
      one["truth_share"] = found.truth_share;
    }
    json["classes"].push_back(std::move(one));
  }
  json["test"] = summary.on_test ? to_json(*summary.on_test) : nlohmann::json("none");
  return json;
}

nlohmann::json summary_of(const std::vector<nlohmann::json>& runs) {
  nlohmann::json summary = spread_of(runs);
  for (const char* key : {"all", "old", "new"}) summary[key] = summary.at("mean").at(key);
  summary["runs"] = runs;
  return summary;
}

// Names of files need not be UTF-8; a replacement character keeps the object valid.
std::string result_text(const nlohmann::json& result) {
  return result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace protogcd
