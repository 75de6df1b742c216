#include "protogcd/data/drawn/drawn_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/folder_entries.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/source_table.h"
#include "protogcd/image/encode.h"

namespace protogcd::drawn {
namespace {

namespace fs = std::filesystem;

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw FileError(fmt::format("{}: cannot write: {}", path.string(), std::strerror(errno)));
  }
}

bool is_numbered_png(const fs::directory_entry& entry) {
  const std::string stem = entry.path().stem().string();
  return entry.path().extension() == ".png" && !entry.is_symlink() && entry.is_regular_file() &&
         !stem.empty() && stem.find_first_not_of("0123456789") == std::string::npos;
}

/// A user's folder is never replaced. Returns whether there is one of ours to replace.
bool check_target(const fs::path& folder, bool overwrite, std::string_view kind,
                  bool (*is_ours)(const fs::path&)) {
  check_output_path(folder, overwrite);
  const bool exists = fs::exists(fs::symlink_status(folder));
  if (exists && !is_ours(folder)) {
    throw UsageError(fmt::format("{}: '{}' is not a {}, so it is not replaced", option_name("out"),
                                 folder.string(), kind),
                     "choose another name");
  }
  return exists;
}

fs::path checked_target(const fs::path& target) {
  if (target.empty()) throw UsageError(option_name("out") + ": no folder given");
  return comparable_path(target);
}

}  // namespace

bool holds_only_numbered_pngs(const fs::path& folder) {
  return std::ranges::all_of(folder_entries(folder), is_numbered_png);
}

DrawnFolder::DrawnFolder(const fs::path& target, bool overwrite, std::string_view kind,
                         bool (*is_ours)(const fs::path&))
    : target_(checked_target(target)),
      path_(beside("partial")),
      earlier_(beside("earlier")),
      replaces_(check_target(target_, overwrite, kind, is_ours)) {
  create_folders(target_.parent_path());
  lock_.emplace(FileLock::of_passing_file(
      beside("lock"), fmt::format("{}: another process is writing it", target_.string())));
  replaces_ = check_target(target_, overwrite, kind, is_ours);  // another may just have finished
  // What a killed call left there: nobody gives a folder such a name.
  remove_folder(path_);
  remove_folder(earlier_);
  create_folders(path_);
}

DrawnFolder::~DrawnFolder() {
  std::error_code ignored;
  remove_folder(path_, ignored);
}

void DrawnFolder::write_image(const std::string& path, const Image& image) const {
  write_bytes(path_ / path, encode_png(image));
}

void DrawnFolder::write_images(std::span<const std::string> paths,
                               const std::function<Image(std::size_t)>& draw,
                               const Context& context) const {
  for (const std::string& path : paths) create_folders((path_ / path).parent_path());
  Progress progress("draw", paths.size(), "images", context.progress());
  ThreadPool pool(context.threads);
  pool.for_each(paths.size(), [&](std::size_t i) {
    write_image(paths[i], draw(i));
    progress.add();
  });
}

void DrawnFolder::put_in_place() {
  if (replaces_) fs::rename(target_, earlier_);
  std::error_code error;
  fs::rename(path_, target_, error);
  if (error) {
    if (replaces_) fs::rename(earlier_, target_);
    throw FileError(fmt::format("{}: cannot rename: {}", target_.string(), error.message()));
  }
  if (replaces_) remove_folder(earlier_);
}

fs::path DrawnFolder::beside(const char* kind) const {
  return target_.parent_path() / fmt::format(".{}.protogcd-{}", target_.filename().string(), kind);
}

}  // namespace protogcd::drawn
