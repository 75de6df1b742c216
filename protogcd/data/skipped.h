// Images that could not be read: collected from any thread, limited by --bad-images and --max-bad,
// written to skipped.csv.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/data/source_table.h"

namespace protogcd {

/// How many bad images a task bears.
class BadImagePolicy {
 public:
  /// `mode` is skip or fail; `limit` a share ("1%", "0.5%") or a number ("20"). UsageError
  /// otherwise.
  static BadImagePolicy parse(std::string_view mode, std::string_view limit);

  bool fails_at_once() const { return fail_; }
  /// The most bad images that `total` images may have.
  std::size_t allowed(std::size_t total) const;

 private:
  bool fail_ = false;
  double share_ = 0;  ///< of the total; used if count_ is not
  std::size_t count_ = 0;
  bool is_share_ = false;
};

struct SkippedFile {
  std::size_t source;
  std::string reason;
};

class SkippedFiles {
 public:
  SkippedFiles(const BadImagePolicy& policy, std::size_t total) : policy_(policy), total_(total) {}

  /// Notes a bad image. Thread-safe. DataError naming `path` and reason if the policy bears no
  /// bad image, or no more of them.
  void add(const SourceTable& sources, std::size_t source, std::string reason);
  std::size_t count() const;
  /// Ordered by source, whatever the order of the threads.
  std::vector<SkippedFile> files() const;
  /// `path,reason`, paths relative to the file's folder.
  void write(const std::filesystem::path& csv_file, const SourceTable& sources) const;

 private:
  const BadImagePolicy policy_;
  const std::size_t total_;
  mutable std::mutex mutex_;
  std::vector<SkippedFile> files_;
};

}  // namespace protogcd
