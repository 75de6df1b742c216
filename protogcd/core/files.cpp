#include "protogcd/core/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "protogcd/core/error.h"
#include "protogcd/core/file_lock.h"

namespace protogcd {
namespace {

constexpr std::size_t kBufferSize = 1 << 18;
constexpr std::string_view kUnfinishedEnding = ".partial";

[[noreturn]] void throw_file_error(const char* action, const std::filesystem::path& path,
                                   int code) {
  throw FileError(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(code)));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// A hidden name beside the target, with something in it that tells writers apart where they need
/// that.
std::filesystem::path temporary_name(const std::filesystem::path& target, const std::string& own) {
  return folder_of(target) /
         fmt::format(".{}{}{}", target.filename().string(), own, kUnfinishedEnding);
}

}  // namespace

void flush_folder(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_file_error("open the folder", path, errno);
  const int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some file systems cannot flush a folder (EINVAL); the rename itself has been done.
  if (code != 0 && code != EINVAL) throw_file_error("flush the folder", path, code);
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t size_limit) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_file_error("open", path, errno);
  std::string text;
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    text.reserve(std::min<std::uint64_t>(status.st_size, size_limit));
  }
  for (;;) {
    const std::size_t old_size = text.size();
    text.resize(old_size + kBufferSize);
    const ssize_t count = ::read(descriptor, text.data() + old_size, kBufferSize);
    if (count < 0 && errno == EINTR) {
      text.resize(old_size);
      continue;
    }
    if (count < 0) {
      const int code = errno;
      ::close(descriptor);
      throw_file_error("read", path, code);
    }
    text.resize(old_size + count);
    if (count == 0) break;
    if (text.size() > size_limit) {
      ::close(descriptor);
      throw FileError(
          fmt::format("{}: larger than the limit of {} bytes", path.string(), size_limit));
    }
  }
  ::close(descriptor);
  return text;
}

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  if (target_.filename().empty()) {
    throw FileError(fmt::format("'{}': not a file name", target_.string()));
  }
#ifdef O_TMPFILE
  descriptor_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#endif
  if (descriptor_ < 0) {
    static std::atomic<unsigned> count{0};
    temporary_ = temporary_name(target_, fmt::format(".{}-{}", ::getpid(), count++));
    descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) throw_file_error("write", target_, errno);
  buffer_.reserve(kBufferSize);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() > kBufferSize) {
    write_all(bytes);
  } else {
    buffer_.append(bytes);
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void AtomicFile::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_file_error("write", target_, errno);
    bytes.remove_prefix(count);
  }
}

void AtomicFile::flush() {
  write_all(buffer_);
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) throw_file_error("flush", target_, errno);
  std::optional<FileLock> lock;
  if (temporary_.empty()) {
    // Between naming and renaming the file has a hidden name that all writers of this target share,
    // one at a time: what a kill leaves there, the next writer removes.
    lock.emplace(FileLock::wait_for(folder_of(target_)));
    const auto name = temporary_name(target_, "");
    const auto handle = fmt::format("/proc/self/fd/{}", descriptor_);
    ::unlink(name.c_str());
    if (::linkat(AT_FDCWD, handle.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      throw_file_error("name", target_, errno);
    }
    temporary_ = name;
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    throw_file_error("rename", target_, errno);
  }
  temporary_.clear();
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_file_error("close", target_, errno);
  flush_folder(folder_of(target_));
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

bool is_unfinished_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') && name.ends_with(kUnfinishedEnding);
}

void create_folders(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path)) {
    throw FileError(fmt::format("{}: cannot create the folder: {}", path.string(),
                                error ? error.message() : "a file of that name exists"));
  }
}

void remove_folder(const std::filesystem::path& path, std::error_code& error) {
  constexpr int kOpenFolders = 32;
  const auto remove_one = [](const char* name, const struct stat*, int, FTW*) {
    return ::remove(name);
  };
  error.clear();
  if (::nftw(path.c_str(), remove_one, kOpenFolders, FTW_DEPTH | FTW_PHYS) != 0 &&
      errno != ENOENT) {
    error.assign(errno, std::generic_category());
  }
}

void remove_folder(const std::filesystem::path& path) {
  std::error_code error;
  remove_folder(path, error);
  if (error) throw_file_error("remove", path, error.value());
}

void check_output_path(const std::filesystem::path& path, bool overwrite, std::string_view option) {
  std::error_code error;
  if (!overwrite && std::filesystem::exists(path, error)) {
    throw UsageError(
        fmt::format("{}: '{}' exists already", option_name(option), path.string()),
        fmt::format("choose another name, or add {} to replace it", option_name("overwrite")));
  }
}

void check_output_file(const std::filesystem::path& path, bool overwrite, std::string_view option) {
  check_output_path(path, overwrite, option);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw FileError(
        fmt::format("{}: '{}' is a folder, a file is needed", option_name(option), path.string()));
  }
  const AtomicFile probe(path);  // not committed: leaves nothing
}

}  // namespace protogcd
