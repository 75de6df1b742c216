#include "protogcd/data/sample.h"

#include <algorithm>

namespace protogcd {

std::string_view sample_set_name(SampleSet set) {
  constexpr std::string_view kNames[] = {"labelled", "unlabelled", "test", "calibration",
                                         "set aside"};
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

std::vector<std::string> Dataset::drop_empty_old_classes() {
  enum class Role : std::uint8_t { kUnused, kNew, kOld };
  std::vector<Role> roles(classes.size(), Role::kUnused);
  for (std::size_t i = old_classes; i < roles.size(); ++i) roles[i] = Role::kNew;
  for (const Sample& sample : samples) {
    if (sample.truth >= 0) roles[sample.truth] = std::max(roles[sample.truth], Role::kNew);
    if (sample.label >= 0) roles[sample.label] = Role::kOld;
  }
  std::vector<std::string> dropped, kept;
  for (std::size_t i = 0; i < old_classes; ++i)
    if (roles[i] != Role::kOld) dropped.push_back(classes[i]);
  if (dropped.empty()) return dropped;
  std::vector<std::int32_t> numbers(classes.size(), kNoClass);
  for (const Role role : {Role::kOld, Role::kNew}) {
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (roles[i] != role) continue;
      numbers[i] = static_cast<std::int32_t>(kept.size());
      kept.push_back(classes[i]);
    }
    if (role == Role::kOld) old_classes = kept.size();
  }
  for (Sample& sample : samples) {
    if (sample.label >= 0) sample.label = numbers[sample.label];
    if (sample.truth >= 0) sample.truth = numbers[sample.truth];
  }
  classes = std::move(kept);
  return dropped;
}

void Dataset::order_by_set() {
  std::ranges::stable_sort(samples, {}, &Sample::set);
}

}  // namespace protogcd
