#include "protogcd/data/skipped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {

BadImagePolicy BadImagePolicy::parse(std::string_view mode, std::string_view limit) {
  BadImagePolicy policy;
  if (mode != "skip" && mode != "fail") {
    throw UsageError(fmt::format("--bad-images: '{}', expected skip or fail", mode));
  }
  policy.fail_ = mode == "fail";
  policy.is_share_ = limit.ends_with('%');
  if (policy.is_share_) {
    const auto percent = parse_real(limit.substr(0, limit.size() - 1));
    if (percent && *percent >= 0 && *percent <= 100) {
      policy.share_ = *percent / 100;
      return policy;
    }
  } else if (const auto count = parse_unsigned(limit)) {
    policy.count_ = *count;
    return policy;
  }
  throw UsageError(fmt::format(
      "--max-bad: '{}', expected a share of 0% to 100% (as 1%) or a number of images", limit));
}

std::size_t BadImagePolicy::allowed(std::size_t total) const {
  if (fail_) return 0;
  if (!is_share_) return count_;
  // The small term keeps 1% of 300 at 3, whatever the rounding of 0.01.
  return static_cast<std::size_t>(std::floor(share_ * static_cast<double>(total) + 1e-9));
}

void SkippedFiles::add(const SourceTable& sources, std::size_t source, std::string reason) {
  const std::lock_guard lock(mutex_);
  files_.push_back({source, std::move(reason)});
  const auto& bad = files_.back();
  if (policy_.fails_at_once()) {
    throw DataError(fmt::format("{}: {}", sources.path(source), bad.reason),
                    "--bad-images skip goes on without such images");
  }
  if (files_.size() > policy_.allowed(total_)) {
    throw DataError(fmt::format("{} of {} images cannot be read, more than --max-bad allows ({}); "
                                "the last: {}: {}",
                                files_.size(), total_, policy_.allowed(total_),
                                sources.path(source), bad.reason),
                    "raise --max-bad to go on without them");
  }
}

std::size_t SkippedFiles::count() const {
  const std::lock_guard lock(mutex_);
  return files_.size();
}

std::vector<SkippedFile> SkippedFiles::files() const {
  std::vector<SkippedFile> sorted;
  {
    const std::lock_guard lock(mutex_);
    sorted = files_;
  }
  std::ranges::stable_sort(sorted, {}, &SkippedFile::source);
  return sorted;
}

void SkippedFiles::write(const std::filesystem::path& csv_file, const SourceTable& sources) const {
  CsvWriter writer(csv_file, {"path", "reason"});
  CsvPaths paths(csv_file);
  for (const auto& file : files()) writer.row({paths(sources, file.source), file.reason});
  writer.commit();
}

}  // namespace protogcd
