// A dataset as the rest of the program sees it: where each image is, what is known about it, which
// set it is in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/data/source_table.h"

namespace protogcd {

/// kCalibration: labelled images that training does not see; kAside: unlabelled ones.
enum class SampleSet : std::uint8_t { kLabelled, kUnlabelled, kTest, kCalibration, kAside };

std::string_view sample_set_name(SampleSet set);

constexpr std::int32_t kNoClass = -1;

/// One image of a dataset: 16 bytes, so that a million of them are nothing to speak of.
struct Sample {
  std::uint32_t source = 0;       ///< index into Dataset::sources
  std::int32_t label = kNoClass;  ///< what training may know: set for labelled samples alone
  std::int32_t truth = kNoClass;  ///< what evaluation may know: hidden label, or the label itself
  SampleSet set = SampleSet::kUnlabelled;
};

/// Samples are ordered: labelled, then unlabelled, then test, then those kept out for calibration,
/// then those set aside.
/// Classes are ordered: the old ones (those of the labelled set), then the new ones that the hidden
/// labels name. Labels are positions in that list.
struct Dataset {
  std::string name;
  std::string labels_from;  ///< who gave the labels: folder, manifest or dataset
  std::vector<std::string> classes;
  std::size_t old_classes = 0;
  SourceTable sources;
  std::vector<Sample> samples;
  std::vector<std::string> warnings;  ///< what is amiss: unreadable folders, truth without image
  std::vector<std::string> notes;     ///< what is worth knowing: files that are no images

  std::size_t count(SampleSet set) const;
  std::vector<std::string> old_names() const;
  bool is_old(std::int32_t label) const {
    return label >= 0 && static_cast<std::size_t>(label) < old_classes;
  }
  /// "" for kNoClass.
  std::string_view class_name(std::int32_t label) const;
  /// Old classes without a labelled sample are old no more: those that hidden labels name come
  /// after the others, the rest is dropped. Returns their names.
  std::vector<std::string> drop_empty_old_classes();
  /// Puts the samples into the order of their sets; within a set the order stays.
  void order_by_set();
};

}  // namespace protogcd
