#include "protogcd/data/calibration_set.h"

#include <algorithm>
#include <cmath>

#include "protogcd/core/random.h"

namespace protogcd {

std::size_t keep_out_for_calibration(Dataset& dataset, double share, std::uint64_t seed) {
  if (share <= 0) return 0;
  std::vector<std::vector<std::size_t>> of_class(dataset.old_classes);
  for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    if (sample.set == SampleSet::kLabelled)
      of_class[static_cast<std::size_t>(sample.label)].push_back(i);
  }
  std::size_t kept_out = 0;
  for (std::size_t label = 0; label < of_class.size(); ++label) {
    std::vector<std::size_t>& images = of_class[label];
    if (images.size() < kLeastLabelsToShare) continue;
    RandomStream stream({.seed = seed, .purpose = RandomPurpose::kKeepOut, .position = label});
    shuffle(std::span(images), stream);
    const auto count = std::max<std::size_t>(
        1, static_cast<std::size_t>(std::floor(share * static_cast<double>(images.size()))));
    for (std::size_t i = 0; i < count; ++i) {
      dataset.samples[images[i]].set = SampleSet::kCalibration;
      dataset.samples[images[i]].label = kNoClass;  // the truth stays
    }
    kept_out += count;
  }
  dataset.order_by_set();
  return kept_out;
}

}  // namespace protogcd
