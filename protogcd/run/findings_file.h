// Public. findings.csv: what else is in a collection. Images that look like another class than
// theirs, pictures that are there several times, images that are too dark, blurred or tiny, and
// images that look unlike all that is labelled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace protogcd {

enum class FindingKind : std::uint8_t {
  kLabelError,
  kNearDuplicate,
  kDark,
  kBlurred,
  kTiny,
  kForeign
};

inline constexpr FindingKind kFindingKinds[] = {
    FindingKind::kLabelError, FindingKind::kNearDuplicate, FindingKind::kDark,
    FindingKind::kBlurred,    FindingKind::kTiny,          FindingKind::kForeign};

/// As the table has it: label-error, near-duplicate, dark, blurred, tiny, foreign.
std::string_view name_of(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::kLabelError;
  std::string path;        ///< as in predictions.csv
  std::string set;         ///< labelled, unlabelled, test, calibration, set aside
  std::string class_name;  ///< the label it was given; empty where it has none
  /// Of a label error, the class it looks like; of a near-duplicate, the path of the image it
  /// repeats.
  std::string other;
  std::string other_class = {};  ///< of a near-duplicate, the class of that image
  double score = 0;              ///< docs/findings.md
};

struct FindingCounts {
  std::array<std::size_t, std::size(kFindingKinds)> counts = {};
  std::string labels_unchecked = {};      ///< why nobody looked at the labels; empty where one did
  std::string duplicates_unchecked = {};  ///< the same of near-duplicates

  std::size_t& of(FindingKind kind) { return counts[static_cast<std::size_t>(kind)]; }
  std::size_t of(FindingKind kind) const { return counts[static_cast<std::size_t>(kind)]; }
};

/// "3 labelled images look like another class, 12 near-duplicates, 1 dark image": empty where there
/// are none.
std::string in_words(const FindingCounts& counts);

void write_findings(const std::filesystem::path& file, const std::vector<Finding>& findings);
/// DataError names file and line where it is no such table.
std::vector<Finding> read_findings(const std::filesystem::path& file);

}  // namespace protogcd
