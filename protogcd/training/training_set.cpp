#include "protogcd/training/training_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "protogcd/core/csv.h"
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

std::vector<double> read_prior(const std::filesystem::path& file,
                               const std::vector<std::string>& classes) {
  const CsvTable table = CsvTable::read(file);
  const std::size_t name = table.column("class"), share = table.column("share");
  std::vector<double> prior(classes.size(), 0);
  double total = 0;
  std::size_t named = 0;
  for (const CsvRow& row : table.rows()) {
    const auto found = std::ranges::find(classes, row.fields[name]);
    if (found == classes.end()) {
      throw DataError(fmt::format("{}: there is no class '{}'", table.where(row), row.fields[name]),
                      fmt::format("the classes are {}", fmt::join(classes, ", ")));
    }
    const auto value = parse_real(row.fields[share]);
    double& place = prior[static_cast<std::size_t>(found - classes.begin())];
    if (!value || !(*value > 0) || *value > 1 || place > 0) {
      throw DataError(fmt::format("{}: '{}' is {}", table.where(row), row.fields[share],
                                  place > 0 ? "a second share of its class"
                                            : "no share, expected a number above 0 and up to 1"));
    }
    place = *value;
    total += *value;
    ++named;
  }
  const std::size_t rest = classes.size() - named;
  constexpr double kRounding = 1e-3;  // shares are often written with few digits
  if (total > 1 + kRounding || (rest == 0 && total < 1 - kRounding) || (rest > 0 && total >= 1)) {
    throw DataError(fmt::format("{}: the shares of {} of {} classes add up to {:.4f}", table.name(),
                                named, classes.size(), total));
  }
  for (double& value : prior) {
    value = value > 0 ? value / std::max(total, rest == 0 ? total : 1.0)
                      : (1 - total) / static_cast<double>(rest);
  }
  return prior;
}

}  // namespace protogcd
