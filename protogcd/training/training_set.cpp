#include "protogcd/training/training_set.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

TrainingSet::TrainingSet(Dataset dataset, const LoaderOptions& loader, std::uint64_t cache_bytes,
                         const BadImagePolicy& policy, const Context& context, bool looks_at_images)
    : dataset_(std::move(dataset)),
      cache_(dataset_.sources.size(), cache_bytes),
      skipped_(policy, dataset_.samples.size()),
      looks_(looks_at_images ? dataset_.sources.size() : 0) {
  // An image that two samples share is read once.
  std::vector<std::uint32_t> list = sources_of(dataset_.samples);
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  stop_together(context, [&] {
    read_all_images(dataset_.sources, list, loader.view.short_side, loader.decode, cache_, skipped_,
                    context, looks_);
  });
  skipped_.check(dataset_.sources);
  std::set<std::uint32_t> bad;
  for (const SkippedFile& file : skipped_.files())
    bad.insert(static_cast<std::uint32_t>(file.source));
  std::erase_if(dataset_.samples, [&](const Sample& s) { return bad.contains(s.source); });
  // Only where an image went: a benchmark may name classes that it has no labelled image of.
  for (const std::string& name :
       bad.empty() ? std::vector<std::string>() : dataset_.drop_empty_old_classes()) {
    context.log.warning(
        fmt::format("class '{}': none of its labelled images can be read, so it is not counted as "
                    "a known class",
                    name));
  }
}

std::span<const Sample> TrainingSet::of(SampleSet set) const {
  const auto range = std::ranges::equal_range(dataset_.samples, set, {}, &Sample::set);
  return {range.begin(), range.end()};
}

void TrainingSet::set_aside(std::span<const std::uint32_t> places) {
  const std::size_t first = count(SampleSet::kLabelled);
  for (const std::uint32_t place : places) dataset_.samples[first + place].set = SampleSet::kAside;
  dataset_.order_by_set();
}

std::vector<Sample> TrainingSet::to_predict() const {
  std::vector<Sample> samples;
  for (const SampleSet set : {SampleSet::kUnlabelled, SampleSet::kAside})
    samples.insert(samples.end(), of(set).begin(), of(set).end());
  return samples;
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

void TrainingSet::write_list(const std::filesystem::path& csv_file) const {
  CsvWriter writer(csv_file, {"path", "set", "class"});
  CsvPaths paths(csv_file);
  for (const Sample& sample : dataset_.samples) {
    writer.row({paths(sources(), sample.source), std::string(sample_set_name(sample.set)),
                std::string(dataset_.class_name(sample.label))});
  }
  writer.commit();
}

std::optional<std::string> TrainingSet::difference_from(
    const std::filesystem::path& csv_file) const {
  const CsvTable table = CsvTable::read(csv_file);
  const std::size_t path = table.column("path"), set = table.column("set"),
                    name = table.column("class");
  const auto in_words = [](const std::string& in_set, const std::string& in_class) {
    return in_class.empty() ? in_set : fmt::format("{} as '{}'", in_set, in_class);
  };
  std::map<std::string, std::string> then;
  for (const CsvRow& row : table.rows())
    then[row.fields[path]] = in_words(row.fields[set], row.fields[name]);
  CsvPaths paths(csv_file);
  for (const Sample& sample : dataset_.samples) {
    const std::string file = paths(sources(), sample.source);
    const auto before = then.find(file);
    if (before == then.end()) return fmt::format("{} was not there", sources().path(sample.source));
    const std::string now = in_words(std::string(sample_set_name(sample.set)),
                                     std::string(dataset_.class_name(sample.label)));
    if (before->second != now)
      return fmt::format("{} was {}, now {}", sources().path(sample.source), before->second, now);
    then.erase(before);
  }
  if (then.empty()) return std::nullopt;
  return fmt::format("{} is no longer there, or cannot be read",
                     (csv_file.parent_path() / then.begin()->first).lexically_normal().string());
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

std::vector<std::int64_t> labelled_of_class(const TrainingSet& set) {
  std::vector<std::int64_t> counts(set.dataset().old_classes, 0);
  for (const Sample& sample : set.of(SampleSet::kLabelled))
    ++counts[static_cast<std::size_t>(sample.label)];
  return counts;
}

}  // namespace protogcd
