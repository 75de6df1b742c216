// Public. What was found out about a model's confidence: how often predictions are right, by images
// of labelled classes whose labels a training did not see (discovery/confidence.h does that).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace protogcd {

struct Confidence {
  /// Of the posterior of images that go to an old and to a new class, instead of the method's own.
  double old_temperature = 0.1, new_temperature = 0.1;
  std::size_t images = 0;  ///< by which they were found
  /// Expected calibration error on these images, at the method's temperature and at these.
  double error_before = 0, error_after = 0;

  nlohmann::json to_json() const;
  /// nlohmann's exceptions where it is something else.
  static Confidence from_json(const nlohmann::json& json);
  /// For people: how far it is to be trusted.
  std::string in_words() const;
};

}  // namespace protogcd
