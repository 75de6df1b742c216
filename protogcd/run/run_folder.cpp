#include "protogcd/run/run_folder.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/folder_entries.h"
#include "protogcd/core/json.h"
#include "protogcd/run/metrics_file.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = ".lock";

/// All that a run writes at its top.
bool is_of_a_run(const std::string& name) {
  using namespace run_files;
  if (is_unfinished_file(name)) return true;
  for (const char* known :
       {kLockFile, kConfig,      kRun,     kEstimate, kEstimateScores, kTune,
        kStarts,   kConfidence,  kForeign, kMetrics,  kPredictions,    kLabelNext,
        kLabels,   kRounds,      kImages,  kResult,   kSkipped,        kFindings,
        kModel,    kCheckpoints, kBank,    kReport,   kFirstStage,     kFeatures}) {
    if (name == known) return true;
  }
  return name.starts_with(kEventsPrefix) || name.starts_with("embeddings.") ||
         name.starts_with("attention.");
}

/// What a run writes before it has anything to lose: a failed one may be begun again.
bool is_of_a_beginning(const std::string& name) {
  using namespace run_files;
  if (is_unfinished_file(name)) return true;
  for (const char* known :
       {kLockFile, kConfig, kRun, kLabels, kRounds, kImages, kSkipped, kFindings, kBank}) {
    if (name == known) return true;
  }
  return name.starts_with(kEventsPrefix);
}

void check_only_runs(const fs::path& path) {
  for (const auto& entry : folder_entries(path)) {
    if (!is_of_a_run(entry.path().filename().string())) {
      throw UsageError(fmt::format("{}: '{}' is nothing that a run writes",
                                   option_name("overwrite"), entry.path().string()),
                       fmt::format("move it away, or choose another {}", option_name("out")));
    }
  }
}

void check_allowed(const fs::path& path, OpenRun how) {
  std::error_code error;
  const bool exists = fs::exists(path, error), folder = fs::is_directory(path, error);
  if (exists && !folder) {
    throw UsageError(
        fmt::format("{}: '{}' is a file, a run needs a folder", option_name("out"), path.string()));
  }
  const bool has_content =
      folder && std::ranges::any_of(folder_entries(path), [](const auto& entry) {
        return !is_of_a_beginning(entry.path().filename().string());
      });
  if (how == OpenRun::kNew && has_content) {
    throw UsageError(fmt::format("{}: '{}' is not empty", option_name("out"), path.string()),
                     fmt::format("add {} to go on with the run in it, or {} to start anew",
                                 option_name("resume"), option_name("overwrite")));
  }
  if (how == OpenRun::kResume && !fs::exists(path / run_files::kConfig)) {
    throw UsageError(
        fmt::format("{}: there is no run in '{}'", option_name("resume"), path.string()),
        fmt::format("leave out {} to start one", option_name("resume")));
  }
}

}  // namespace

RunFolder::RunFolder(fs::path path, OpenRun how) : path_(std::move(path)) {
  check_allowed(path_, how);
  create_folders(path_);
  lock_.emplace(path_ / kLockFile,
                fmt::format("{}: another process is working in it", path_.string()));
  if (how == OpenRun::kOverwrite) check_only_runs(path_);
}

void RunFolder::empty() const {
  for (const auto& entry : folder_entries(path_)) {
    // A token bank is costly, and knows by itself what of it still holds.
    if (entry.path().filename() == kLockFile || entry.path().filename() == run_files::kBank)
      continue;
    if (entry.is_directory() && !entry.is_symlink()) {
      remove_folder(entry.path());
    } else {
      fs::remove(entry.path());
    }
  }
}

void RunFolder::add_metrics(const nlohmann::json& line) const {
  protogcd::add_metrics(metrics(), line);
}

void RunFolder::keep_metrics_before(std::int64_t epoch) const {
  protogcd::keep_metrics_before(metrics(), epoch);
}

}  // namespace protogcd
