#include "protogcd/core/zip_archive.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr std::uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50,
                        kEnd64LocatorMark = 0x07064b50;
constexpr std::uint32_t kDirectoryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr std::size_t kEndSize = 22, kEnd64Size = 56, kEnd64LocatorSize = 20, kDirectorySize = 46,
                      kLocalSize = 30;
constexpr std::uint32_t kIn64Field = 0xFFFFFFFF;  // the value stands in the zip64 field instead
constexpr std::uint16_t kZip64Field = 1;

/// Numbers at offsets, every one checked against the file's size.
class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::uint64_t size() const { return bytes_.size(); }

  std::span<const std::byte> part(std::uint64_t offset, std::uint64_t count,
                                  const char* what) const {
    if (offset > bytes_.size() || count > bytes_.size() - offset) {
      throw ModelFileError(
          fmt::format("{}: {} at offset {} ({} bytes) lies outside the file of {} bytes", name_,
                      what, offset, count, bytes_.size()));
    }
    return bytes_.subspan(offset, count);
  }

  template <class T>
  T number(std::uint64_t offset, const char* what) const {
    T value;
    std::memcpy(&value, part(offset, sizeof(T), what).data(), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
};

struct Directory {
  std::uint64_t offset = 0, size = 0, records = 0;
};

/// The end record is the last thing in the file, but for a comment of up to 64 KiB.
Directory find_directory(const Bytes& bytes, const std::string& name) {
  constexpr std::uint64_t kLongestComment = 0xFFFF;
  const std::uint64_t size = bytes.size();
  if (size < kEndSize)
    throw ModelFileError(fmt::format("{}: {} bytes are too few for a zip file", name, size));
  const std::uint64_t first = size - std::min(size, kEndSize + kLongestComment);
  for (std::uint64_t at = size - kEndSize + 1; at-- > first;) {
    if (bytes.number<std::uint32_t>(at, "end record") != kEndMark) continue;
    Directory directory{.offset = bytes.number<std::uint32_t>(at + 16, "end record"),
                        .size = bytes.number<std::uint32_t>(at + 12, "end record"),
                        .records = bytes.number<std::uint16_t>(at + 10, "end record")};
    const bool has_zip64 =
        at >= kEnd64LocatorSize &&
        bytes.number<std::uint32_t>(at - kEnd64LocatorSize, "zip64 locator") == kEnd64LocatorMark;
    if (has_zip64) {
      const auto end64 = bytes.number<std::uint64_t>(at - kEnd64LocatorSize + 8, "zip64 locator");
      bytes.part(end64, kEnd64Size, "zip64 end record");
      if (bytes.number<std::uint32_t>(end64, "zip64 end record") != kEnd64Mark) {
        throw ModelFileError(fmt::format("{}: no zip64 end record at offset {}", name, end64));
      }
      directory = {.offset = bytes.number<std::uint64_t>(end64 + 48, "zip64 end record"),
                   .size = bytes.number<std::uint64_t>(end64 + 40, "zip64 end record"),
                   .records = bytes.number<std::uint64_t>(end64 + 32, "zip64 end record")};
    }
    return directory;
  }
  throw ModelFileError(
      fmt::format("{}: no zip directory: the file is cut short, or no PyTorch zip file", name));
}

/// Sizes and offset of 0xFFFFFFFF are found in the zip64 extra field, in this order.
void read_zip64_field(const Bytes& bytes, std::uint64_t extra, std::uint64_t extra_size,
                      std::span<std::uint64_t*> values) {
  for (std::uint64_t at = extra; at + 4 <= extra + extra_size;) {
    const auto id = bytes.number<std::uint16_t>(at, "extra field");
    const std::uint64_t length = bytes.number<std::uint16_t>(at + 2, "extra field");
    std::uint64_t value_at = at + 4;
    if (id == kZip64Field) {
      for (std::uint64_t* value : values) {
        if (*value != kIn64Field || value_at + 8 > at + 4 + length) continue;
        *value = bytes.number<std::uint64_t>(value_at, "zip64 field");
        value_at += 8;
      }
    }
    at += 4 + length;
  }
}

struct DirectoryEntry {
  std::string record;
  std::uint64_t begin = 0, end = 0;  ///< of the data
};

}  // namespace

ZipArchive::ZipArchive(std::span<const std::byte> bytes, std::string name)
    : name_(std::move(name)) {
  parse(bytes);
}

bool ZipArchive::is_intact([[maybe_unused]] const Record& record) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  return true;  // no fuzzer guesses a checksum, and what lies behind it must hold without
#else
  return crc32_z(0, reinterpret_cast<const Bytef*>(record.bytes.data()), record.bytes.size()) ==
         record.checksum;
#endif
}

void ZipArchive::parse(std::span<const std::byte> raw) {
  const Bytes bytes(raw, name_);
  const Directory directory = find_directory(bytes, name_);
  bytes.part(directory.offset, directory.size, "directory");
  std::vector<DirectoryEntry> places;
  std::uint64_t at = directory.offset;
  const std::uint64_t directory_end = directory.offset + directory.size;
  for (std::uint64_t i = 0; i < directory.records; ++i) {
    if (at + kDirectorySize > directory_end ||
        bytes.number<std::uint32_t>(at, "directory") != kDirectoryMark) {
      throw ModelFileError(
          fmt::format("{}: directory entry {} at offset {} is damaged", name_, i, at));
    }
    const auto flags = bytes.number<std::uint16_t>(at + 8, "directory"),
               method = bytes.number<std::uint16_t>(at + 10, "directory");
    const auto checksum = bytes.number<std::uint32_t>(at + 16, "directory");
    std::uint64_t stored = bytes.number<std::uint32_t>(at + 20, "directory"),
                  full = bytes.number<std::uint32_t>(at + 24, "directory");
    std::uint64_t local = bytes.number<std::uint32_t>(at + 42, "directory");
    const std::uint64_t name_size = bytes.number<std::uint16_t>(at + 28, "directory");
    const std::uint64_t extra_size = bytes.number<std::uint16_t>(at + 30, "directory");
    const std::uint64_t comment_size = bytes.number<std::uint16_t>(at + 32, "directory");
    const auto name_bytes = bytes.part(at + kDirectorySize, name_size, "record name");
    const std::string record(reinterpret_cast<const char*>(name_bytes.data()), name_bytes.size());
    const auto fail = [&](const std::string& reason) {
      throw ModelFileError(
          fmt::format("{}: record '{}' at offset {}: {}", name_, record, at, reason));
    };
    std::uint64_t* wide[] = {&full, &stored, &local};
    read_zip64_field(bytes, at + kDirectorySize + name_size, extra_size, wide);
    if (method != 0 || stored != full) fail("compressed, but PyTorch stores its records");
    if ((flags & 1) != 0) fail("encrypted");
    bytes.part(local, kLocalSize, "record header");
    if (bytes.number<std::uint32_t>(local, "record header") != kLocalMark)
      fail(fmt::format("no record header at offset {}", local));
    const std::uint64_t data = local + kLocalSize +
                               bytes.number<std::uint16_t>(local + 26, "record header") +
                               bytes.number<std::uint16_t>(local + 28, "record header");
    const auto content = bytes.part(data, full, "record data");
    if (data + full > directory.offset) fail("its data overlaps the directory");
    if (!records_.emplace(record, Record{content, checksum}).second) fail("occurs twice");
    places.push_back({record, local, data + full});
    at += kDirectorySize + name_size + extra_size + comment_size;
  }
  std::ranges::sort(places, {}, &DirectoryEntry::begin);
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].begin < places[i - 1].end) {
      throw ModelFileError(fmt::format("{}: records '{}' and '{}' overlap at offset {}", name_,
                                       places[i - 1].record, places[i].record, places[i].begin));
    }
  }
}

}  // namespace protogcd
