// A run's folder on disk: never overwritten unasked, used by one process at a time, and always in a
// state that a killed run can go on from.
//
//   config.toml  run.json  estimate.json  metrics.jsonl  predictions.csv  embeddings.safetensors
//   attention.safetensors  skipped.csv  result.json  report.html  model/  checkpoints/
//   events.out.tfevents.*
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "protogcd/core/file_lock.h"

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
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path estimate() const { return path_ / "estimate.json"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path predictions() const { return path_ / "predictions.csv"; }
  std::filesystem::path embeddings() const { return path_ / "embeddings.safetensors"; }
  std::filesystem::path attention() const { return path_ / "attention.safetensors"; }
  std::filesystem::path skipped() const { return path_ / "skipped.csv"; }
  std::filesystem::path result() const { return path_ / "result.json"; }
  std::filesystem::path model() const { return path_ / "model"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

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
