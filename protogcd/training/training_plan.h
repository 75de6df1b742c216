// How one training uses the images of a run, where that is not as the run itself does.
#pragma once

#include <memory>
#include <optional>

#include "protogcd/data/hidden_split.h"
#include "protogcd/engine/kept_views.h"

namespace protogcd {

struct TrainingPlan {
  /// Nothing: labels as they are. Else the training set is, in this order: labelled images that
  /// keep their labels, those whose labels are hidden, unlabelled images.
  std::shared_ptr<const HiddenSplit> split = nullptr;
  /// Strength of borrowed differences; nothing: as the material's options say.
  std::optional<double> borrow = std::nullopt;
  bool fresh_views = false;  ///< new crops for every draw, also where there is a bank
  /// Fresh views are shared with the other trainings of the same split that have this; null: not.
  std::shared_ptr<KeptTokens> kept = nullptr;
};

}  // namespace protogcd
