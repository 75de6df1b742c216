#include "protogcd/core/mapped_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "protogcd/core/error.h"

namespace protogcd {

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto fail = [&](int code) {
    if (descriptor >= 0) ::close(descriptor);
    throw FileError(fmt::format("{}: cannot open: {}", path.string(), std::strerror(code)));
  };
  if (descriptor < 0) fail(errno);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(errno);
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  if (status.st_size > 0) {
    void* address = ::mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) fail(errno);
    bytes_ = {static_cast<const std::byte*>(address), static_cast<std::size_t>(status.st_size)};
  }
  ::close(descriptor);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace protogcd
