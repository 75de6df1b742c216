// One process at a time: the lock of a file or folder, held until the object goes or the process
// ends, however it does. File systems without locks do without.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace protogcd {

class FileLock {
 public:
  /// Of a file, which is made if it is not there. FileError with this message and hint where
  /// another holds it: the message names what is locked.
  FileLock(const std::filesystem::path& file, const std::string& busy,
           const std::string& hint = {});
  /// The same, beside others that share it: FileError where one holds it alone.
  static FileLock shared(const std::filesystem::path& file, const std::string& busy,
                         const std::string& hint = {});
  /// Of a file, which is made if it is not there; nothing where another holds it. FileError where
  /// the file system has no locks: those who share work by them must know.
  static std::optional<FileLock> try_take(const std::filesystem::path& file);
  /// Of a file that is there only while somebody holds it. FileError with this message where
  /// another does.
  static FileLock of_passing_file(const std::filesystem::path& file, const std::string& busy);
  /// Of a folder; waits for it.
  static FileLock wait_for(const std::filesystem::path& folder);

  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  /// A process that is started with it open holds the lock too, until it ends.
  int descriptor() const { return descriptor_; }

  FileLock& operator=(FileLock&&) = delete;

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  std::filesystem::path removed_in_the_end_ = {};
};

}  // namespace protogcd
