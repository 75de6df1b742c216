#include "protogcd/run/confidence.h"

#include <fmt/core.h>

#include "protogcd/core/json.h"

namespace protogcd {

nlohmann::json Confidence::to_json() const {
  return {{"old_temperature", old_temperature},
          {"new_temperature", new_temperature},
          {"images", images},
          {"error_before", error_before},
          {"error_after", error_after}};
}

Confidence Confidence::from_json(const nlohmann::json& json) {
  return {.old_temperature = json.at("old_temperature"),
          .new_temperature = json.at("new_temperature"),
          .images = count_at<std::size_t>(json, "images"),
          .error_before = json.at("error_before"),
          .error_after = json.at("error_after")};
}

std::string Confidence::in_words() const {
  return fmt::format(
      "confidence was checked on {} labelled images that a short training did not know, some of "
      "classes that it did not know: there it is {:.0f} points off how often predictions are "
      "right, and would be {:.0f} as the method tells it",
      images, 100 * error_after, 100 * error_before);
}

}  // namespace protogcd
