#include "protogcd/training/training_set.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"

namespace protogcd {

TrainingSet::TrainingSet(Dataset dataset, const LoaderOptions& loader, std::uint64_t cache_bytes,
                         const BadImagePolicy& policy, const Context& context)
    : dataset_(std::move(dataset)),
      cache_(dataset_.sources.size(), cache_bytes),
      skipped_(policy, dataset_.samples.size()) {
  // An image that two samples share is read once.
  std::vector<std::uint32_t> list = sources_of(dataset_.samples);
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  read_all_images(dataset_.sources, list, loader.view.short_side, loader.decode, cache_, skipped_,
                  context);
  std::set<std::uint32_t> bad;
  for (const SkippedFile& file : skipped_.files())
    bad.insert(static_cast<std::uint32_t>(file.source));
  std::erase_if(dataset_.samples, [&](const Sample& s) { return bad.contains(s.source); });
}

std::span<const Sample> TrainingSet::of(SampleSet set) const {
  const auto range = std::ranges::equal_range(dataset_.samples, set, {}, &Sample::set);
  return {range.begin(), range.end()};
}

std::span<const Sample> TrainingSet::train() const {
  return {dataset_.samples.data(), count(SampleSet::kLabelled) + count(SampleSet::kUnlabelled)};
}

std::string TrainingSet::digest() const {
  Sha256 digest;
  for (const Sample& sample : dataset_.samples) {
    digest.update(fmt::format("{}\n{}\n{}\n", sources().path(sample.source), sample.label,
                              static_cast<int>(sample.set)));
  }
  return hexadecimal(digest.finish());
}

std::vector<std::uint32_t> sources_of(std::span<const Sample> samples) {
  std::vector<std::uint32_t> sources;
  for (const Sample& sample : samples) sources.push_back(sample.source);
  return sources;
}

std::vector<std::int32_t> truths_of(std::span<const Sample> samples) {
  std::vector<std::int32_t> truths;
  for (const Sample& sample : samples) truths.push_back(sample.truth);
  return truths;
}

at::Tensor labelled_classes(const TrainingSet& set) {
  std::vector<std::int64_t> labels;
  for (const Sample& sample : set.of(SampleSet::kLabelled)) labels.push_back(sample.label);
  return at::tensor(at::ArrayRef<std::int64_t>(labels));
}

}  // namespace protogcd
