// Public. Which settings a run took after it had tried some on its own labels (discovery/tune.h
// does that).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protogcd/core/option_name.h"

namespace protogcd {

/// As multiples of what the run would have taken.
struct TunedSetting {
  double weight = 1, borrow = 1;

  bool operator==(const TunedSetting&) const = default;
  bool is_default() const { return *this == TunedSetting(); }
};

/// One model, trained without the labels of some classes and judged by them.
struct TuningTrial {
  TunedSetting setting = {};
  std::int64_t draw = 0, epochs = 0;  ///< which classes were hidden, and how long it was trained
  bool is_last = false;               ///< of the last stage, by which the choice was made
  double old_classes = 0, new_classes = 0;  ///< accuracy; NaN: no images, or training diverged
  double score = 0;                         ///< both, weighted as the run's images are
};

struct Tuning {
  TunedSetting chosen = {};
  std::string option = {};               ///< the key of the method's weight
  double weight = 0, borrow = 0;         ///< what the choice comes to
  std::int64_t classes = 0, hidden = 0;  ///< old ones, and how many of them a trial did not know
  /// The best other setting of the last stage, how much higher it scored than the default, the mean
  /// over draws, and its standard error: over draws or over images, whichever is larger.
  TunedSetting rival = {};
  double gain = 0, error = 0;
  double margin = 0;  ///< a gain has to be larger than this and the error together
  std::vector<TuningTrial> trials = {};
  double seconds = 0;

  nlohmann::json to_json() const;
  /// nlohmann's exceptions where it is something else.
  static Tuning from_json(const nlohmann::json& json);
  /// For people: what was chosen, why, and what else was close.
  std::string in_words(const OptionSpelling& spelling = {}) const;

  /// Mean score of a setting over its trials of the last stage, or of the first.
  double mean_score(const TunedSetting& setting, bool of_last) const;
};

}  // namespace protogcd
