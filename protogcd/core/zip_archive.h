// A zip archive of stored (uncompressed) records, as PyTorch writes its files: names and where
// their bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace protogcd {

/// Reads the directory alone and checks every claim in it: method, sizes, offsets within the file,
/// no overlap, unique names. Throws ModelFileError with file, record and offset. The bytes must
/// outlive the archive.
class ZipArchive {
 public:
  struct Record {
    std::span<const std::byte> bytes;
    std::uint32_t checksum = 0;  ///< CRC-32 as the archive claims it
  };

  ZipArchive(std::span<const std::byte> bytes, std::string name);

  const std::map<std::string, Record>& records() const { return records_; }
  /// Whether the record's bytes have the checksum the archive claims. Reads all of them.
  static bool is_intact(const Record& record);

 private:
  void parse(std::span<const std::byte> bytes);

  std::string name_;
  std::map<std::string, Record> records_;
};

}  // namespace protogcd
