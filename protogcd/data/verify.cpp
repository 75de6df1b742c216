#include "protogcd/data/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "protogcd/core/text.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/data/duplicates.h"
#include "protogcd/data/image_cache.h"

namespace protogcd {
namespace {

void check_duplicates(const Dataset& dataset, DatasetCheck& check) {
  constexpr std::size_t kMostNamed = 10;
  const DuplicateReport report = find_duplicates(dataset);
  std::size_t across_sets = 0, contradictions = 0;
  for (const auto& group : report.groups) {
    std::set<std::int32_t> classes;
    std::set<SampleSet> sets;
    for (const std::size_t sample : group) {
      if (dataset.samples[sample].truth >= 0) classes.insert(dataset.samples[sample].truth);
      sets.insert(dataset.samples[sample].set);
    }
    if (sets.size() > 1) ++across_sets;
    if (classes.size() > 1 && ++contradictions <= kMostNamed) {
      check.problems.push_back(fmt::format("{} and {}: the same file under different classes",
                                           dataset.sources.path(dataset.samples[group[0]].source),
                                           dataset.sources.path(dataset.samples[group[1]].source)));
    }
  }
  if (contradictions > kMostNamed) {
    check.problems.push_back(
        fmt::format("and {} more files under different classes", contradictions - kMostNamed));
  }
  if (!report.groups.empty()) {
    check.notes.push_back(fmt::format("{} files are copies of others, {} groups across sets",
                                      report.extra_files(), across_sets));
  }
}

/// A class of one image has no second one to be like.
void check_single_images(const Dataset& dataset, DatasetCheck& check) {
  std::vector<std::size_t> counts(dataset.old_classes);
  for (const Sample& sample : dataset.samples)
    if (sample.label >= 0) ++counts[static_cast<std::size_t>(sample.label)];
  std::vector<std::string> single;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 1) single.push_back(dataset.classes[i]);
  if (single.empty()) return;
  check.notes.push_back(
      fmt::format("{} classes have a single labelled image: {}", single.size(), few_of(single)));
}

void check_sizes(const Dataset& dataset, DatasetCheck& check) {
  const BenchmarkInfo& info = find_benchmark(dataset.name);
  for (const auto& [set, expected] : {std::pair{SampleSet::kLabelled, info.labelled},
                                      std::pair{SampleSet::kUnlabelled, info.unlabelled},
                                      std::pair{SampleSet::kTest, info.test}}) {
    const std::size_t count = dataset.count(set);
    if (count == expected || (set == SampleSet::kTest && count == 0)) continue;
    check.problems.push_back(fmt::format("{} {} images, the published {} has {}", count,
                                         sample_set_name(set), info.title, expected));
  }
}

}  // namespace

DatasetCheck check_labels(const Dataset& dataset) {
  DatasetCheck check;
  check_duplicates(dataset, check);
  check_single_images(dataset, check);
  return check;
}

DatasetCheck check_dataset(const Dataset& dataset, bool is_benchmark) {
  DatasetCheck check{.problems = dataset.warnings, .notes = dataset.notes};
  if (is_benchmark) check_sizes(dataset, check);
  const DatasetCheck labels = check_labels(dataset);
  check.problems.insert(check.problems.end(), labels.problems.begin(), labels.problems.end());
  check.notes.insert(check.notes.end(), labels.notes.begin(), labels.notes.end());
  if (dataset.count(SampleSet::kTest) == 0) check.notes.emplace_back("test set: none");
  return check;
}

std::size_t count_image_files(const Dataset& dataset) {
  return static_cast<std::size_t>(std::ranges::count_if(
      dataset.samples, [&](const Sample& s) { return !dataset.sources.is_record(s.source); }));
}

void find_unreadable(const Dataset& dataset, const DecodeOptions& options, const Context& context,
                     SkippedFiles& skipped) {
  constexpr std::size_t kFilesPerTask = 64;  // they share a reader and its buffers
  Progress progress("read", count_image_files(dataset), "images", context.progress());
  ThreadPool pool(context.threads);
  const std::size_t samples = dataset.samples.size();
  pool.for_each((samples + kFilesPerTask - 1) / kFilesPerTask, [&](std::size_t task) {
    ResizedReader reader(dataset.sources, options);
    Image image;
    const std::size_t end = std::min(samples, (task + 1) * kFilesPerTask);
    for (std::size_t i = task * kFilesPerTask; i < end; ++i) {
      const std::uint32_t source = dataset.samples[i].source;
      if (dataset.sources.is_record(source)) continue;
      const auto bad = reader.read(source, ViewSize{}.short_side, image);
      if (bad) skipped.add(dataset.sources, source, bad->reason);
      progress.add();
    }
  });
}

}  // namespace protogcd
