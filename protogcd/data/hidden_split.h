// A smaller task made of a dataset's own labels: some old classes are taken for new, so that it is
// known what a training that does not see their labels should find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "protogcd/data/sample.h"

namespace protogcd {

/// Fewer classes with labelled images are not split: what is left would be no task like the whole.
inline constexpr std::size_t kLeastClassesToHide = 4;

struct HiddenSplit {
  /// Places among the labelled samples, ascending: those that keep their labels, and those that are
  /// taken for unlabelled.
  std::vector<std::uint32_t> kept, hidden;
  std::vector<std::int32_t> labels;   ///< of the kept, as `numbers` has them
  std::vector<std::int32_t> numbers;  ///< of each old class in the split: the kept classes first
  std::size_t old_classes = 0;        ///< those kept, whose numbers are below this

  std::size_t hidden_classes() const { return numbers.size() - old_classes; }
};

/// Old classes with labelled samples.
std::size_t labelled_class_count(const Dataset& dataset);

/// Hides a quarter of the classes that have labelled samples, with all of those; the first few
/// draws hide different classes. Of kept classes all samples stay labelled where some of theirs are
/// in the calibration set, else a tenth (of a class of two or more at least one) is hidden, so that
/// there are known images to judge by. Looks at no truth but that of calibration samples, which is
/// their label. InternalError below kLeastClassesToHide classes.
HiddenSplit hide_classes(const Dataset& dataset, std::uint64_t seed, std::size_t draw);

}  // namespace protogcd
