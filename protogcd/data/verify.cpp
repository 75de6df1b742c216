#include "protogcd/data/verify.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "protogcd/data/benchmark.h"
#include "protogcd/data/duplicates.h"

namespace protogcd {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kMostListed = 100;  // a wrong --root would otherwise list every file

/// What is wrong with a file, or nothing.
std::string file_problem(const std::string& path) {
  // Not blocking: a manifest may name a pipe, which would wait for a writer for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return fmt::format("{}: cannot open: {}", path, std::strerror(errno));
  std::array<char, 16> head{};
  const ssize_t count = ::read(descriptor, head.data(), head.size());
  const int code = errno;
  ::close(descriptor);
  if (count < 0) return fmt::format("{}: cannot read: {}", path, std::strerror(code));
  if (count == 0) return fmt::format("{}: empty", path);
  if (begins_like_image({head.data(), static_cast<std::size_t>(count)})) return {};
  return fmt::format("{}: does not begin like a JPEG, PNG or WebP image", path);
}

void check_files(const Dataset& dataset, DatasetCheck& check) {
  std::size_t found = 0;
  for (const auto& sample : dataset.samples) {
    if (dataset.sources.is_record(sample.source)) continue;
    const std::string problem = file_problem(dataset.sources.path(sample.source));
    if (problem.empty()) continue;
    if (++found <= kMostListed) check.problems.push_back(problem);
  }
  if (found > kMostListed) {
    check.problems.push_back(fmt::format("and {} more files", found - kMostListed));
  }
}

void check_duplicates(const Dataset& dataset, DatasetCheck& check) {
  const DuplicateReport report = find_duplicates(dataset);
  std::size_t across_sets = 0;
  for (const auto& group : report.groups) {
    std::set<std::int32_t> classes;
    std::set<SampleSet> sets;
    for (const std::size_t sample : group) {
      if (dataset.samples[sample].truth >= 0) classes.insert(dataset.samples[sample].truth);
      sets.insert(dataset.samples[sample].set);
    }
    if (sets.size() > 1) ++across_sets;
    if (classes.size() > 1) {
      check.problems.push_back(fmt::format("{} and {}: the same file under different classes",
                                           dataset.sources.path(dataset.samples[group[0]].source),
                                           dataset.sources.path(dataset.samples[group[1]].source)));
    }
  }
  if (!report.groups.empty()) {
    check.notes.push_back(fmt::format("{} files are copies of others, {} groups across sets",
                                      report.extra_files(), across_sets));
  }
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

bool begins_like_image(std::string_view head) {
  return head.starts_with("\xFF\xD8\xFF"sv) || head.starts_with("\x89PNG\r\n\x1A\n"sv) ||
         (head.starts_with("RIFF"sv) && head.size() >= 12 && head.substr(8, 4) == "WEBP"sv);
}

DatasetCheck check_dataset(const Dataset& dataset, bool is_benchmark) {
  DatasetCheck check;
  check.problems = dataset.warnings;
  check.notes = dataset.notes;
  if (is_benchmark) check_sizes(dataset, check);
  check_files(dataset, check);
  check_duplicates(dataset, check);
  if (dataset.count(SampleSet::kTest) == 0) check.notes.emplace_back("test set: none");
  return check;
}

}  // namespace protogcd
