// A run's folder on disk: never overwritten unasked, used by one process at a time, and always in a
// state that a killed run can go on from.
// run_files.h names what is in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "protogcd/core/file_lock.h"
#include "protogcd/run/run_files.h"

namespace protogcd {

enum class OpenRun { kNew, kOverwrite, kResume };

class RunFolder {
 public:
  /// kNew: the folder must not exist, or be empty. kOverwrite: it may hold what runs write, nothing
  /// else. kResume: it must be a run's. UsageError otherwise; FileError where it cannot be written
  /// or another process is using it.
  RunFolder(std::filesystem::path path, OpenRun how);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / run_files::kConfig; }
  std::filesystem::path estimate() const { return path_ / run_files::kEstimate; }
  std::filesystem::path estimate_scores() const { return path_ / run_files::kEstimateScores; }
  std::filesystem::path starts() const { return path_ / run_files::kStarts; }
  std::filesystem::path foreign() const { return path_ / run_files::kForeign; }
  std::filesystem::path confidence() const { return path_ / run_files::kConfidence; }
  std::filesystem::path tune() const { return path_ / run_files::kTune; }
  std::filesystem::path metrics() const { return path_ / run_files::kMetrics; }
  std::filesystem::path predictions() const { return path_ / run_files::kPredictions; }
  std::filesystem::path label_next() const { return path_ / run_files::kLabelNext; }
  std::filesystem::path embeddings() const { return path_ / run_files::kEmbeddings; }
  std::filesystem::path attention() const { return path_ / run_files::kAttention; }
  std::filesystem::path images() const { return path_ / run_files::kImages; }
  std::filesystem::path findings() const { return path_ / run_files::kFindings; }
  std::filesystem::path skipped() const { return path_ / run_files::kSkipped; }
  std::filesystem::path model() const { return path_ / run_files::kModel; }
  std::filesystem::path result() const { return path_ / run_files::kResult; }
  std::filesystem::path machine() const { return path_ / run_files::kRun; }
  std::filesystem::path bank() const { return path_ / run_files::kBank; }
  std::filesystem::path checkpoints() const { return path_ / run_files::kCheckpoints; }
  std::filesystem::path features() const { return path_ / run_files::kFeatures; }
  std::filesystem::path first_stage() const { return path_ / run_files::kFirstStage; }

  /// Removes the run that is overwritten: to be called when the new one is sure to begin.
  void empty() const;

  /// Adds one line, on disk when it returns.
  void add_metrics(const nlohmann::json& line) const;
  /// Drops the lines of epochs from this one on: a resumed run writes them again.
  void keep_metrics_before(std::int64_t epoch) const;

 private:
  std::filesystem::path path_;
  std::optional<FileLock> lock_;
};

}  // namespace protogcd
