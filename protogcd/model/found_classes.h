// The classes a model sorts images into, as a person would ask about them: how many images, how
// sure, and what they really are where that is known.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protogcd/model/prediction.h"

namespace protogcd {

struct FoundClass {
  std::string name;
  bool is_new = false;
  std::size_t images = 0;
  double confidence = 0;   ///< mean over its images; 0 where there are none
  std::string truth;       ///< the true class most of them are of; empty where none is known
  double truth_share = 0;  ///< of its images with a known truth
};

/// One for each class of the model, in its order. `truths` [N] index `truth_names`, negative where
/// unknown.
std::vector<FoundClass> describe_classes(const Predictions& predictions, const ModelInfo& info,
                                         std::span<const std::int32_t> truths,
                                         std::span<const std::string> truth_names);

}  // namespace protogcd
