#include "protogcd/run/found_classes.h"

#include <algorithm>
#include <numeric>

namespace protogcd {

std::vector<FoundClass> describe_classes(std::span<const std::string> classes,
                                         std::int64_t old_classes,
                                         std::span<const std::int32_t> labels,
                                         std::span<const float> confidence,
                                         std::span<const std::int32_t> truths,
                                         std::span<const std::string> truth_names) {
  std::vector<FoundClass> described(classes.size());
  std::vector<std::vector<std::size_t>> counts(classes.size(),
                                               std::vector<std::size_t>(truth_names.size()));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    ++described[label].images;
    described[label].confidence += confidence[i];
    if (truths[i] >= 0) ++counts[label][static_cast<std::size_t>(truths[i])];
  }
  for (std::size_t k = 0; k < described.size(); ++k) {
    FoundClass& found = described[k];
    found.name = classes[k];
    found.is_new = static_cast<std::int64_t>(k) >= old_classes;
    if (found.images > 0) found.confidence /= static_cast<double>(found.images);
    const auto known = std::accumulate(counts[k].begin(), counts[k].end(), std::size_t{0});
    if (known == 0) continue;
    const auto most = std::max_element(counts[k].begin(), counts[k].end());
    found.truth = truth_names[static_cast<std::size_t>(most - counts[k].begin())];
    found.truth_share = static_cast<double>(*most) / static_cast<double>(known);
  }
  return described;
}

}  // namespace protogcd
