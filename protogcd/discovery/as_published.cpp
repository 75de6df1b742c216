#include "protogcd/discovery/as_published.h"

namespace protogcd {

std::vector<PublishedSetting> published_settings(const MethodOptions& method,
                                                 const std::string& dataset) {
  std::vector<PublishedSetting> settings = {
      {"views", "fresh"},         {"borrow", "0"},
      {"dtype", "tf32"},          {"eval_every", "1"},
      {"rule", "paper"},          {"outlier_score", "msp"},
      {"calibration_share", "0"}, {"calibrate_confidence", "false"},
      {"beginnings", "1"},        {"tune", "false"}};
  // Of two values of an option the later one is taken: the method's own.
  for (PublishedSetting& setting : method.published(dataset))
    settings.push_back(std::move(setting));
  return settings;
}

std::vector<PublishedSetting> published_outlier_settings() {
  return {{"score", "msp"}, {"sampling", "reference"}, {"dtype", "tf32"}};
}

void take(const std::vector<PublishedSetting>& settings, OptionTable& table) {
  for (const auto& [key, value] : settings) table.suggest(key, value);
}

}  // namespace protogcd
