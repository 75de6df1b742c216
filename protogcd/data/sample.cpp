#include "protogcd/data/sample.h"

#include <algorithm>

namespace protogcd {

std::string_view sample_set_name(SampleSet set) {
  constexpr std::string_view kNames[] = {"labelled", "unlabelled", "test"};
  return kNames[static_cast<int>(set)];
}

std::size_t Dataset::count(SampleSet set) const {
  return static_cast<std::size_t>(std::ranges::count(samples, set, &Sample::set));
}

std::vector<std::string> Dataset::old_names() const {
  return {classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(old_classes)};
}

std::string_view Dataset::class_name(std::int32_t label) const {
  return label < 0 ? std::string_view() : std::string_view(classes.at(label));
}

void Dataset::order_by_set() {
  std::ranges::stable_sort(samples, {}, &Sample::set);
}

}  // namespace protogcd
