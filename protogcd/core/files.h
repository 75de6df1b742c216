// Public. Files: whole reads with a size limit, and writes that leave either the old file or the
// new one, never a mixture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace protogcd {

/// The whole file; FileError names it if it cannot be read or is larger than the limit.
std::string read_text_file(const std::filesystem::path& path,
                           std::uint64_t size_limit = std::numeric_limits<std::uint64_t>::max());

/// A file that appears under its name only when `commit` succeeds, whatever happens before.
///
/// The data goes to an unnamed file of the same folder (O_TMPFILE; a hidden named one where the
/// file system has none), which a kill leaves no trace of. `commit` flushes it to disk, renames it
/// over the target and flushes the folder.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  void write_all(std::string_view bytes);
  void flush();

  std::filesystem::path target_;
  std::filesystem::path temporary_;  ///< empty while the file has no name
  int descriptor_ = -1;
  std::string buffer_;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// Whether this is the hidden name of a file that a kill kept from getting its own.
bool is_unfinished_file(const std::filesystem::path& path);

/// Makes the names in a folder outlast a power failure, where its file system can.
void flush_folder(const std::filesystem::path& path);

/// Creates the folder and its parents; FileError names it if that fails.
void create_folders(const std::filesystem::path& path);

/// Removes a folder and all it holds; links are removed, not followed. Nothing there is no error.
/// Used instead of std::filesystem::remove_all, of which a CUDA libtorch exports a copy that
/// crashes.
void remove_folder(const std::filesystem::path& path);
/// The same where failing is no reason to stop.
void remove_folder(const std::filesystem::path& path, std::error_code& error);

/// Refuses an output that exists already, unless told to overwrite; UsageError says what
/// would allow it. `option` is the key of the one that named the output.
void check_output_path(const std::filesystem::path& path, bool overwrite,
                       std::string_view option = "out");
/// The same for one file, and FileError if it could not be written: better before the work than
/// after it.
void check_output_file(const std::filesystem::path& path, bool overwrite, std::string_view option);

}  // namespace protogcd
