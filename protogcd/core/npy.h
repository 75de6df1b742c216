// numpy's .npy arrays: a reader that maps the file, and writers. Whatever a header claims is
// checked against the file before use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protogcd/core/files.h"
#include "protogcd/core/mapped_file.h"
#include "protogcd/core/tensor_entry.h"

namespace protogcd {

/// A memory-mapped array in C order (versions 1 to 3 of the format). DataError names the file and
/// what is wrong; Fortran order, big-endian numbers and Python objects are refused.
class NpyFile {
 public:
  explicit NpyFile(const std::filesystem::path& path);
  /// For tests and fuzzing: bytes that must outlive the object.
  NpyFile(std::span<const std::byte> bytes, std::string name);

  const TensorEntry& array() const { return array_; }
  /// The elements of an integer array as 64-bit numbers; DataError for any other type.
  std::vector<std::int64_t> integers() const;

 private:
  void parse(std::span<const std::byte> bytes);

  std::unique_ptr<MappedFile> file_;
  TensorEntry array_;  ///< its name is the file's
};

/// Writes an array row by row (a row is one step of the first dimension) to a file that appears
/// when `commit` succeeds. The number of rows is known beforehand, as the header comes first.
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, ElementType type, std::vector<std::int64_t> shape);
  /// Any number of whole or partial rows, in order.
  void append(std::span<const std::byte> bytes);
  /// InternalError if more or fewer bytes than the shape needs were appended.
  void commit();

 private:
  AtomicFile file_;
  std::string name_;
  std::uint64_t missing_bytes_;
};

/// What stands before the data: magic, version and header, a multiple of 64 bytes.
std::string npy_preamble(ElementType type, std::span<const std::int64_t> shape);

void write_npy(const std::filesystem::path& path, const TensorEntry& array);

}  // namespace protogcd
