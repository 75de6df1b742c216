#include "protogcd/gcd/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = ".lock";

/// All that a run writes at its top.
bool is_of_a_run(const std::string& name) {
  for (const char* known :
       {kLockFile, "config.toml", "run.json", "metrics.jsonl", "predictions.csv", "result.json",
        "skipped.csv", "model", "checkpoints", "bank", "report.html"}) {
    if (name == known) return true;
  }
  return name.starts_with("events.out.tfevents") || name.starts_with("embeddings.");
}

void empty_run(const fs::path& path) {
  for (const auto& entry : fs::directory_iterator(path)) {
    if (!is_of_a_run(entry.path().filename().string())) {
      throw UsageError(
          fmt::format("--overwrite: '{}' is nothing that a run writes", entry.path().string()),
          "move it away, or choose another --out");
    }
  }
  for (const auto& entry : fs::directory_iterator(path)) {
    // A token bank is costly, and knows by itself what of it still holds.
    if (entry.path().filename() == kLockFile || entry.path().filename() == "bank") continue;
    if (entry.is_directory() && !entry.is_symlink()) {
      remove_folder(entry.path());
    } else {
      fs::remove(entry.path());
    }
  }
}

void check_allowed(const fs::path& path, OpenRun how) {
  std::error_code error;
  const bool exists = fs::exists(path, error), folder = fs::is_directory(path, error);
  if (exists && !folder) {
    throw UsageError(fmt::format("--out: '{}' is a file, a run needs a folder", path.string()));
  }
  const bool has_content =
      folder && std::ranges::any_of(fs::directory_iterator(path), [](auto& entry) {
        return entry.path().filename() != kLockFile;  // of a run that failed before it began
      });
  if (how == OpenRun::kNew && has_content) {
    throw UsageError(fmt::format("--out: '{}' is not empty", path.string()),
                     "add --resume to go on with the run in it, or --overwrite to start anew");
  }
  if (how == OpenRun::kResume && !fs::exists(path / "config.toml")) {
    throw UsageError(fmt::format("--resume: there is no run in '{}'", path.string()),
                     "leave out --resume to start one");
  }
}

}  // namespace

RunFolder::RunFolder(fs::path path, OpenRun how) : path_(std::move(path)) {
  check_allowed(path_, how);
  create_folders(path_);
  const fs::path lock = path_ / kLockFile;
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) throw FileError(fmt::format("{}: {}", lock.string(), std::strerror(errno)));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw FileError(fmt::format("{}: another process is working in it", path_.string()));
  }
  try {
    if (how == OpenRun::kOverwrite) empty_run(path_);
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

RunFolder::~RunFolder() {
  ::close(lock_);
}

void RunFolder::add_metrics(const nlohmann::json& line) const {
  const std::string text = line.dump() + "\n", name = metrics().string();
  const int file = ::open(name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const auto fail = [&](int code) {
    if (file >= 0) ::close(file);
    throw FileError(fmt::format("{}: {}", name, std::strerror(code)));
  };
  if (file < 0) fail(errno);
  const ssize_t written = ::write(file, text.data(), text.size());
  if (written < 0) fail(errno);
  if (static_cast<std::size_t>(written) != text.size()) fail(ENOSPC);
  if (::fsync(file) != 0) fail(errno);
  ::close(file);
}

void RunFolder::keep_metrics_before(std::int64_t epoch) const {
  if (!fs::exists(metrics())) return;
  std::istringstream lines(read_text_file(metrics()));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    // The last line may have been cut short.
    if (json.is_object() && json.value("epoch", epoch) < epoch) kept += line + "\n";
  }
  write_file_atomically(metrics(), kept);
}

}  // namespace protogcd
