#include "protogcd/data/class_split.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/numpy_random.h"

namespace protogcd {
namespace {

void check(std::size_t old_classes, std::size_t classes) {
  if (old_classes >= 1 && old_classes <= classes) return;
  throw UsageError(fmt::format("{} {}: there are {} known classes", option_name("old_classes"),
                               old_classes, classes),
                   classes == 0
                       ? fmt::format("hidden labels are needed for it: {} FILE.csv (path,label)",
                                     option_name("truth"))
                       : "");
}

}  // namespace

void choose_old_classes(RawBenchmark& raw, std::size_t old_classes) {
  std::vector<std::size_t> order = raw.old_ids;
  order.insert(order.end(), raw.new_ids.begin(), raw.new_ids.end());
  check(old_classes, order.size());
  const auto border = order.begin() + static_cast<std::ptrdiff_t>(old_classes);
  raw.old_ids.assign(order.begin(), border);
  raw.new_ids.assign(border, order.end());
}

void choose_old_classes(Dataset& dataset, std::size_t old_classes, double labelled_share) {
  check(old_classes, dataset.classes.size());
  dataset.old_classes = old_classes;
  std::vector<std::size_t> pool;
  for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
    Sample& sample = dataset.samples[i];
    if (sample.set == SampleSet::kTest) continue;
    sample.label = kNoClass;
    sample.set = SampleSet::kUnlabelled;
    if (dataset.is_old(sample.truth)) pool.push_back(i);
  }
  for (const std::size_t position :
       NumpyRandom(0).choice(pool.size(), share_of(pool.size(), labelled_share))) {
    Sample& sample = dataset.samples[pool[position]];
    sample.label = sample.truth;
    sample.set = SampleSet::kLabelled;
  }
  check_old_classes_are_labelled(dataset,
                                 fmt::format("{} {}", option_name("old_classes"), old_classes));
  dataset.order_by_set();
}

void check_old_classes_are_labelled(const Dataset& dataset, std::string_view asked) {
  std::vector<bool> has_labelled(dataset.old_classes);
  for (const Sample& sample : dataset.samples)
    if (sample.set == SampleSet::kLabelled)
      has_labelled.at(static_cast<std::size_t>(sample.label)) = true;
  const auto without = std::ranges::find(has_labelled, false);
  if (without == has_labelled.end()) return;
  throw DataError(
      fmt::format("{}: no image of class '{}' is among the labelled ones", asked,
                  dataset.classes[static_cast<std::size_t>(without - has_labelled.begin())]),
      fmt::format("a class needs more images for this, or a larger {}",
                  option_name("labelled_share")));
}

}  // namespace protogcd
