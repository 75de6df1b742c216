// A file seen as memory: opening is not reading, pages come in as they are touched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

namespace protogcd {

class MappedFile {
 public:
  /// Maps the file for reading; FileError names it if that fails. An empty file gives empty bytes.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace protogcd
