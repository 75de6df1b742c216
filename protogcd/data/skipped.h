// Images that could not be read: collected from any thread, limited by --bad-images and --max-bad,
// written to skipped.csv. Files of kinds that cannot be read are listed with them and not limited.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/data/source_table.h"

namespace protogcd {

/// The list beside what was made of the others.
inline constexpr const char* kSkippedFile = "skipped.csv";

struct SkippedFile {
  std::size_t source;
  std::string reason;
};

class SkippedFiles {
 public:
  SkippedFiles(const BadImagePolicy& policy, std::size_t total) : policy_(policy), total_(total) {}

  /// Notes a bad image. Thread-safe. DataError names it if the policy bears none at all.
  void add(const SourceTable& sources, std::size_t source, std::string reason);
  std::size_t count() const;
  /// DataError lists them if there are more than the policy bears, or if none was good. To be
  /// called when all images were read and what was made of the others is safe; `kept` says in words
  /// what that is.
  void check(const SourceTable& sources, const std::string& kept = {}) const;
  /// How many files a list of them has: bad images, and those of kinds that cannot be read.
  std::size_t listed(const SourceTable& sources, bool unreadable = true) const;
  /// Ordered by source, whatever the order of the threads.
  std::vector<SkippedFile> files() const;
  /// `path,reason`, paths relative to the file's folder; `unreadable`: also the files of kinds that
  /// cannot be read.
  void write(const std::filesystem::path& csv_file, const SourceTable& sources,
             bool unreadable = true) const;
  /// The same where there is something to list; otherwise a list of an earlier run is removed.
  void write_if_any(const std::filesystem::path& csv_file, const SourceTable& sources,
                    bool unreadable = true) const;

 private:
  const BadImagePolicy policy_;
  const std::size_t total_;
  mutable std::mutex mutex_;
  std::vector<SkippedFile> files_;
};

}  // namespace protogcd
