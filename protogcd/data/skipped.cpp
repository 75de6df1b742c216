#include "protogcd/data/skipped.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {

void SkippedFiles::add(const SourceTable& sources, std::size_t source, std::string reason) {
  const std::lock_guard lock(mutex_);
  files_.push_back({source, std::move(reason)});
  const auto& bad = files_.back();
  if (policy_.fails_at_once()) {
    throw DataError(fmt::format("{}: {}", sources.path(source), bad.reason),
                    option_name("bad_images") + " skip goes on without such images");
  }
}

void SkippedFiles::check(const SourceTable& sources, const std::string& kept) const {
  constexpr std::size_t kMostListed = 100;  // a wrong folder would otherwise list every file
  const std::vector<SkippedFile> bad = files();
  const bool none_good = total_ > 0 && bad.size() == total_;
  if (!none_good && bad.size() <= policy_.allowed(total_)) return;
  std::string list;
  for (std::size_t i = 0; i < std::min(bad.size(), kMostListed); ++i)
    list += one_line(fmt::format("{}: {}", sources.path(bad[i].source), bad[i].reason)) + "\n  ";
  if (bad.size() > kMostListed) {
    list += fmt::format("and {} more, which `protogcd datasets verify` lists\n  ",
                        bad.size() - kMostListed);
  }
  const std::string advice = fmt::format("raise {} to go on without them", option_name("max_bad"));
  throw DataError(none_good
                      ? fmt::format("none of the {} images can be read", total_)
                      : fmt::format("{} of {} images cannot be read, more than {} allows ({}){}",
                                    bad.size(), total_, option_name("max_bad"),
                                    policy_.allowed(total_), kept.empty() ? "" : "; " + kept),
                  none_good ? list.substr(0, list.find_last_not_of(" \n") + 1) : list + advice);
}

std::size_t SkippedFiles::count() const {
  const std::lock_guard lock(mutex_);
  return files_.size();
}

std::size_t SkippedFiles::listed(const SourceTable& sources, bool unreadable) const {
  return count() + (unreadable ? sources.unreadable().size() : 0);
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

void SkippedFiles::write(const std::filesystem::path& csv_file, const SourceTable& sources,
                         bool unreadable) const {
  CsvWriter writer(csv_file, {"path", "reason"});
  CsvPaths paths(csv_file);
  for (const auto& file : files()) writer.row({paths(sources, file.source), file.reason});
  if (unreadable)
    for (const auto& file : sources.unreadable()) writer.row({paths(file.path), file.reason});
  writer.commit();
}

void SkippedFiles::write_if_any(const std::filesystem::path& csv_file, const SourceTable& sources,
                                bool unreadable) const {
  if (listed(sources, unreadable) > 0) {
    write(csv_file, sources, unreadable);
  } else {
    std::error_code ignored;
    std::filesystem::remove(csv_file, ignored);
  }
}

}  // namespace protogcd
