// A folder of drawn images as it is written: it appears under its name only when complete, and
// takes the place of nothing but an earlier one of its kind.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protogcd/core/context.h"
#include "protogcd/core/file_lock.h"
#include "protogcd/image/image.h"

namespace protogcd::drawn {

/// Whether a folder has nothing but files like "0017.png": the only kind that is drawn.
bool holds_only_numbered_pngs(const std::filesystem::path& folder);

class DrawnFolder {
 public:
  /// Refuses (UsageError) a target that exists, unless `overwrite` is set and `is_ours` finds
  /// nothing in it but what such a folder holds; `kind` names it in words. FileError where another
  /// process is writing it.
  DrawnFolder(const std::filesystem::path& target, bool overwrite, std::string_view kind,
              bool (*is_ours)(const std::filesystem::path&));
  /// What was not put in place goes.
  ~DrawnFolder();
  DrawnFolder(const DrawnFolder&) = delete;
  DrawnFolder& operator=(const DrawnFolder&) = delete;

  /// Where to write: a hidden folder beside the target.
  const std::filesystem::path& path() const { return path_; }
  /// To `path` below the folder, as PNG; its parent must be there. Thread-safe.
  void write_image(const std::string& path, const Image& image) const;
  /// Image i, from any thread, to paths[i] below the folder, as PNG.
  void write_images(std::span<const std::string> paths,
                    const std::function<Image(std::size_t)>& draw, const Context& context) const;
  void put_in_place();

 private:
  std::filesystem::path beside(const char* kind) const;

  std::filesystem::path target_;
  std::filesystem::path path_, earlier_;
  bool replaces_;
  std::optional<FileLock> lock_;
};

}  // namespace protogcd::drawn
