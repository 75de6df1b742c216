#include "protogcd/core/file_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

int opened(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw FileError(fmt::format("{}: cannot open: {}", path.string(), std::strerror(errno)));
  return descriptor;
}

/// Whether nobody else holds it. What is not supported here (ENOLCK and others) counts as done.
bool lock(int descriptor, int how) {
  while (::flock(descriptor, how) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) break;
  }
  return true;
}

}  // namespace

FileLock::FileLock(const fs::path& file, const std::string& busy, const std::string& hint)
    : descriptor_(opened(file, O_RDWR | O_CREAT)) {
  if (lock(descriptor_, LOCK_EX | LOCK_NB)) return;
  ::close(descriptor_);
  throw FileError(busy, hint);
}

FileLock FileLock::shared(const fs::path& file, const std::string& busy, const std::string& hint) {
  FileLock taken(opened(file, O_RDWR | O_CREAT));
  if (!lock(taken.descriptor_, LOCK_SH | LOCK_NB)) throw FileError(busy, hint);
  return taken;
}

std::optional<FileLock> FileLock::try_take(const fs::path& file) {
  FileLock taken(opened(file, O_RDWR | O_CREAT));
  while (::flock(taken.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    if (errno == EINTR) continue;
    throw FileError(fmt::format("{}: cannot lock: {}", file.string(), std::strerror(errno)),
                    "work is shared by locks of files, which this file system lacks");
  }
  return taken;
}

FileLock FileLock::of_passing_file(const fs::path& file, const std::string& busy) {
  for (;;) {
    FileLock taken(opened(file, O_RDWR | O_CREAT));
    if (!lock(taken.descriptor_, LOCK_EX | LOCK_NB)) throw FileError(busy);
    struct stat held {
    }, named{};
    const bool is_there = ::fstat(taken.descriptor_, &held) == 0 &&
                          ::stat(file.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
                          held.st_dev == named.st_dev;
    if (!is_there) continue;  // who held it has removed it meanwhile
    taken.removed_in_the_end_ = file;
    return taken;
  }
}

FileLock FileLock::wait_for(const fs::path& folder) {
  FileLock taken(opened(folder, O_RDONLY | O_DIRECTORY));
  lock(taken.descriptor_, LOCK_EX);
  return taken;
}

FileLock::~FileLock() {
  if (!removed_in_the_end_.empty()) ::unlink(removed_in_the_end_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileLock::FileLock(FileLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      removed_in_the_end_(std::exchange(other.removed_in_the_end_, {})) {}

}  // namespace protogcd
