// Public. The classes a model sorts images into, as a person would ask about them: how many images,
// how sure, and what they really are where that is known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace protogcd {

struct FoundClass {
  std::string name;
  bool is_new = false;
  std::size_t images = 0;
  double confidence = 0;   ///< mean over its images; 0 where there are none
  std::string truth;       ///< the true class most of them are of; empty where none is known
  double truth_share = 0;  ///< of its images with a known truth
  /// How much of it trainings from other beginnings find again, 0 to 1; nothing where none were
  /// made, or it has no image.
  std::optional<double> stability = {};
};

/// One for each of the classes, in their order, of which the first `old_classes` are old. `labels`
/// and `confidence` [N] are what was predicted; `truths` [N] index `truth_names`, negative where
/// unknown.
std::vector<FoundClass> describe_classes(std::span<const std::string> classes,
                                         std::int64_t old_classes,
                                         std::span<const std::int32_t> labels,
                                         std::span<const float> confidence,
                                         std::span<const std::int32_t> truths,
                                         std::span<const std::string> truth_names);

}  // namespace protogcd
